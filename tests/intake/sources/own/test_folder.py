"""A folder of one's own tables: CSV and Parquet give the same rows, and what is wrong is told."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from facts_support import the
from reading_support import cluster_source, opened, read, recognised

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest
from tracekit.store.doubts import doubts
from tracekit.store.folder import open_store
from tracekit.store.query import Database

TABLES = {
    "nodes": pl.DataFrame(
        {
            "node": ["n1", "n2"],
            "cpu_milli": [8000, 8100],
            "memory_bytes": [2**34, 2**34],
            "pods": [110, 110],
            "gpu_milli": [None, 2500],
            "net_in_bytes_per_s": [1.25e9, 1.25e9],
            "zone": ["a", "b"],
            "owner": ["ads", None],
            "labels": [None, '{"disk": "ssd, fast"}'],
            "label_generation": [3, 4],
        }
    ),
    "containers": pl.DataFrame(
        {
            "container": ["a", "b", "c"],
            "service": ["web", "web", None],
            "node": ["n1", "n2", None],
            "arrival_ms": [0, 0, 60_000],
            "departure_ms": [None, 90_000, None],
            "cpu_milli": [2000, None, 4000],
            "memory_bytes": [2**31, 2**31, 2**33],
            "cpu_limit_milli": [3000, 1500, None],
            "gpu": [None, None, 1],
            "gang": [None, "g", "g"],
        }
    ),
    "usage": pl.DataFrame(
        {
            "container": ["a", "b"],
            "time_ms": [0, 30_000],
            "cpu_milli": [900.5, 700.0],
            "memory_bytes": [1e9, None],
        }
    ),
    "background": pl.DataFrame({"node": ["n1"], "time_ms": [0], "cpu_milli": [250.0]}),
}


def _write(folder: Path, ending: str) -> dict[str, Path]:
    paths = {word: folder / f"{word}.{ending}" for word in TABLES}
    for word, path in paths.items():
        if ending == "csv":
            TABLES[word].write_csv(path)
        else:
            TABLES[word].write_parquet(path)
    return paths


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_every_file_gives_rows_of_its_tables(tmp_path: Path, ending: str) -> None:
    paths = _write(tmp_path, ending)
    assert {word: recognised(path) for word, path in paths.items()} == {
        word: [("folder", word)] for word in paths
    }
    found = {word: read("folder", path) for word, path in paths.items()}
    assert not any(one.broken for one in found.values())
    node = found["nodes"].tables["node"]
    assert node.select("node", "zone").rows() == [("n1", "a"), ("n2", "b")]
    assert [json.loads(text) for text in node["labels"]] == [
        {"owner": "ads", "generation": "3"},
        {"disk": "ssd, fast", "generation": "4"},
    ]
    assert sorted(found["nodes"].rows("node_resource", "node", "resource", "amount", "unit")) == [
        ("n1", "cpu", 8.0, "cores"),
        ("n1", "memory", 2.0**34, "bytes"),
        ("n1", "net_in", 1.25e9, "bytes/s"),
        ("n1", "pods", 110.0, "count"),
        ("n2", "cpu", 8.1, "cores"),
        ("n2", "gpu", 2.5, "count"),
        ("n2", "memory", 2.0**34, "bytes"),
        ("n2", "net_in", 1.25e9, "bytes/s"),
        ("n2", "pods", 110.0, "count"),
    ]
    lives = found["containers"].tables["container"].cast({"departure_ms": pl.Float64})
    assert lives.select("container", "service", "node", "departure_ms", "gang").rows() == [
        ("a", "web", "n1", None, None),
        ("b", "web", "n2", 90_000.0, "g"),
        ("c", None, None, None, "g"),
    ]
    requests = found["containers"].rows(
        "container_resource", "container", "resource", "request", "limit", "unit"
    )
    assert sorted(requests) == [
        ("a", "cpu", 2.0, 3.0, "cores"),
        ("a", "memory", 2.0**31, None, "bytes"),
        ("b", "cpu", None, 1.5, "cores"),
        ("b", "memory", 2.0**31, None, "bytes"),
        ("c", "cpu", 4.0, None, "cores"),
        ("c", "gpu", 1.0, None, "count"),
        ("c", "memory", 2.0**33, None, "bytes"),
    ]
    used = found["usage"].rows("container_amount", "container", "resource", "amount", "unit")
    assert sorted(used) == [
        ("a", "cpu", 0.9005, "cores"),
        ("a", "memory", 1e9, "bytes"),
        ("b", "cpu", 0.7, "cores"),
    ]
    beside = found["background"].rows("node_amount", "node", "resource", "amount", "unit")
    assert beside == [("n1", "background_cpu", 0.25, "cores")]


@pytest.mark.parametrize(
    ("name", "header", "kinds"),
    [
        ("nodes.csv", "memory_bytes,cpu_milli,node", ["nodes"]),
        ("nodes-2026-01-31.csv", "node,cpu_milli,memory_bytes", ["nodes"]),
        ("usage_3.csv", "container,time_ms,cpu_milli", ["usage"]),
        ("node_resource.csv", "time_ms,node,resource,cell,amount,unit", ["node_resource"]),
        ("container.csv", "time_ms,container", ["container"]),
        ("containers.csv", "time_ms,container", []),
        ("nodes.csv", "timestamp,nodeid", []),
        ("mynodes.csv", "node,cpu_milli,memory_bytes", []),
        ("nodes.txt", "node,cpu_milli,memory_bytes", []),
    ],
)
def test_a_file_is_known_by_name_and_columns(
    tmp_path: Path, name: str, header: str, kinds: list[str]
) -> None:
    path = tmp_path / name
    path.write_text(f"{header}\n")
    assert recognised(path) == [("folder", kind) for kind in kinds]


def test_a_table_of_the_store_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "node_resource.csv"
    path.write_text(
        "node,resource,amount,unit,time_ms,cell,why\n"
        "n1,cpu,64,cores,0,,\n"
        "n1,cpu,32,cores,0,1,half\n"
    )
    rows = read("folder", path).tables["node_resource"]
    assert rows.columns == ["line", "node", "resource", "amount", "unit", "time_ms", "cell"]
    assert rows.rows() == [
        (2, "n1", "cpu", "64", "cores", "0", None),
        (3, "n1", "cpu", "32", "cores", "0", "1"),
    ]


BROKEN_CONTAINERS = (
    b"container,node,arrival_ms,departure_ms,cpu_milli,memory_bytes\n"
    b"a,n1,0,,1000,1073741824\n"
    b"b,n9,0,,1000,1\n"
    b"\n"
    b"c,n1,500,400,1000,1\n"
    b"d,n1,0\n"
    b"\xff,n1,0,,1,1\n"
    b"e,,0,,much,1\n"
    b"O}\xcc\x03\n" + "fünf,,0,,1,1\n".encode()
)


def test_what_is_broken_is_told_with_its_line(tmp_path: Path) -> None:
    nodes = _write(tmp_path, "csv")["nodes"]
    path = tmp_path / "containers.csv"
    path.write_bytes(BROKEN_CONTAINERS)
    found = read("folder", path, {"nodes": (opened(nodes),)})
    assert sorted(found.reasons) == [
        (3, "node", "is 'n9', expected a node of the files beside"),
        (5, "departure_ms", "is '400', expected after arrival_ms"),
        (6, None, "has 3 fields, expected 6"),
        (7, None, "is not UTF-8 text"),
        (8, "cpu_milli", "is 'much', expected a number"),
        (9, None, "has 1 fields, expected 6"),
    ]
    assert found.rows("container", "container") == [("a",), ("fünf",)]
    # a container without what it asks for is none at all
    assert 8 not in found.tables["container_resource"]["line"]


NODES_CSV = "node,cpu_milli,memory_bytes\nn1,8000,34359738368\n"
CONTAINERS_CSV = "container,arrival_ms,cpu_milli,memory_bytes\na,0,1000,1073741824\n"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("nodes", NODES_CSV.replace(",", ";").encode(), "separated by ';'; expected commas"),
        ("nodes", NODES_CSV.replace(",", "\t").encode(), r"separated by '\t'; expected commas"),
        ("nodes", b"n1,8000,34359738368\n", "is no header: n1, 8000, 34359738368; expected"),
        ("usage", b"a,0,300\n", "with container, time_ms, cpu_milli among them"),
        ("nodes", NODES_CSV.encode("utf-16"), "is text in UTF-16, expected UTF-8"),
        ("nodes", NODES_CSV.encode("utf-16-le"), "is text in UTF-16, expected UTF-8"),
        ("nodes", b"\n", "its first line is empty, expected the names of columns"),
        ("background", b"host,cpu\nn1,5\n", "columns node, time_ms, cpu_milli; found: host, cpu"),
        ("call", b"a;b\n", "no table of call of your own"),
    ],
)
def test_a_file_with_the_name_of_a_table_that_is_none_ends_the_ingest(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / "containers.csv").write_text(CONTAINERS_CSV)
    (tmp_path / f"{name}.csv").write_bytes(content)
    with pytest.raises(TracekitError) as raised:
        ingest(tmp_path, tmp_path / "store")
    assert raised.value.what.startswith(f"{name}.csv: no table of {name} of your own")
    assert said in raised.value.what
    assert not (tmp_path / "store").exists()


def test_files_of_other_names_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "containers.csv").write_text(CONTAINERS_CSV)
    (tmp_path / "nodes_old.csv").write_text("n1;8000\n")
    pl.DataFrame({"path": [1]}).write_parquet(tmp_path / "call.parquet")
    summary = ingest(tmp_path, tmp_path / "store")
    assert [name for name, _ in summary.passed_over] == ["call.parquet", "nodes_old.csv"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_in_other_letters_are_taken(tmp_path: Path, ending: str) -> None:
    frames = {
        "nodes": pl.DataFrame(
            {"Node": ["n1"], "CPU_milli ": [8000], "memory_bytes": [2**34], "Zone": ["a"]}
        ),
        "containers": pl.DataFrame(
            {
                "CONTAINER": ["a"],
                "node": ["n1"],
                "Arrival_ms": [0],
                "Departure_ms": [90_000],
                "cpu_milli": [1000],
                " memory_bytes": [2**30],
            }
        ),
        "usage": pl.DataFrame({"Container": ["a"], "Time_ms": [100_000], "cpu_milli": [500.0]}),
    }
    paths = {word: tmp_path / f"{word}.{ending}" for word in frames}
    for word, frame in frames.items():
        frame.write_csv(paths[word]) if ending == "csv" else frame.write_parquet(paths[word])
    beside = {word: (opened(path),) for word, path in paths.items()}
    node = read("folder", paths["nodes"], beside).rows("node", "node", "zone")
    assert node == [("n1", "a")]
    container = read("folder", paths["containers"], beside)
    assert container.rows("container", "container", "node") == [("a", "n1")]
    assert read("folder", paths["usage"], beside).reasons == [
        (2 if ending == "csv" else 1, "time_ms", "is '100000', expected no time after departure_ms")
    ]


def test_two_columns_that_may_be_the_same_are_told(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(f"Node,NODE,{NODES_CSV.partition(',')[2]}")
    with pytest.raises(TracekitError, match="for want of the column node; found: Node, NODE"):
        ingest(tmp_path, tmp_path / "store")


def test_usage_of_an_unknown_container_is_broken(tmp_path: Path) -> None:
    containers = _write(tmp_path, "csv")["containers"]
    path = tmp_path / "usage.csv"
    path.write_text("container,time_ms,cpu_milli\na,0,5\nzz,0,5\n")
    found = read("folder", path, {"containers": (opened(containers),)})
    assert found.rows("container_amount", "container", "amount") == [("a", 0.005)]
    assert [(one.table, one.line, one.column) for one in found.broken] == [
        ("container_amount", 3, "container")
    ]


def test_points_in_time_and_booleans_of_parquet_are_read(tmp_path: Path) -> None:
    path = tmp_path / "containers.parquet"
    pl.DataFrame(
        {
            "container": ["a"],
            "arrival_ms": pl.Series(["2026-01-01 00:00:00.5"]).str.to_datetime(),
            "cpu_milli": [100],
            "memory_bytes": [2**30],
            "daemon": [True],
        }
    ).write_parquet(path)
    row = read("folder", path).rows("container", "time_ms", "daemon")
    assert row == [(1_767_225_600_500, 1)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"node,cpu_mili,memory_bytes\nn,1,1\n", "has no column 'cpu_milli'"),
        (b"node,cpu_milli,memory_bytes,node\nn,1,1,n\n", "more than one column 'node'"),
        (b"PAR1 and then something else", "cannot be read as Parquet"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "nodes.csv"
    path.write_bytes(content)
    (nodes,) = (file for file in cluster_source("folder").files if file.word == "nodes")
    with pytest.raises(TracekitError, match=said):
        list(nodes.read(opened(path)))


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_folder_becomes_a_store(tmp_path: Path, ending: str) -> None:
    trace = tmp_path / "trace"
    trace.mkdir()
    _write(trace, ending)
    (trace / "node_usage_0.csv").write_text(
        "time_ms,node,cpu_fraction,memory_fraction\n0,n1,0.5,0.5\n0,n1,-1,0.5\n"
    )
    ingest(trace, tmp_path / "store")
    with Database(open_store(tmp_path / "store")) as database:
        capacity = database.frame(
            "SELECT node, amount FROM node_resource WHERE resource = 'cpu' ORDER BY ALL"
        )
        assert capacity.rows() == [("n1", 8.0), ("n2", 8.1)]
        lives = database.frame("SELECT container, departure_ms FROM container ORDER BY ALL")
        assert lives.rows() == [("a", None), ("b", 90_000), ("c", None)]
        assert database.frame("SELECT count(*) FROM node_usage").item() == 1
        rejected = database.frame('SELECT "table", line, "column" FROM reject').rows()
        assert rejected == [("node_usage", 3, "cpu_fraction")]


@pytest.mark.parametrize(
    ("name", "lines", "likely"),
    [
        ("usage.csv", [f"c,{60 * at},200,1e8" for at in range(5)], "seconds"),
        ("usage.csv", [f"c,{60_000 * at},200000,1e8" for at in range(5)], "microcores"),
        ("usage.csv", [f"c,{60_000 * at},2e8,1e8" for at in range(5)], "nanocores"),
        ("usage.csv", [f"c,{60_000 * at},0.{at}7,1e8" for at in range(5)], "cores"),
        ("node_usage.csv", [f"{60 * at},n1,0.5,0.5" for at in range(5)], "seconds"),
    ],
)
def test_another_unit_is_refused_with_the_likely_one(
    tmp_path: Path, name: str, lines: list[str], likely: str
) -> None:
    headers = {
        "usage.csv": "container,time_ms,cpu_milli,memory_bytes",
        "node_usage.csv": "time_ms,node,cpu_fraction,memory_fraction",
    }
    nodes = tmp_path / "nodes.csv"
    nodes.write_text("node,cpu_milli,memory_bytes\nn1,8000,34359738368\n")
    path = tmp_path / name
    path.write_text("\n".join([headers[name], *lines]) + "\n")
    with pytest.raises(TracekitError) as raised:
        read("folder", path, {"nodes": (opened(nodes),)})
    assert f"it looks like {likely}" in str(raised.value.hint)


def test_samples_outside_the_life_of_their_container_are_rejects(tmp_path: Path) -> None:
    _write(tmp_path, "csv")
    (tmp_path / "usage.csv").write_text(
        "container,time_ms,cpu_milli\nc,30000,1\nc,60000,2\nb,90000,3\nb,120000,4\n"
    )
    beside = {"containers": (opened(tmp_path / "containers.csv"),)}
    found = read("folder", tmp_path / "usage.csv", beside)
    assert found.rows("container_amount", "container", "amount") == [("c", 0.002), ("b", 0.003)]
    assert found.reasons == [
        (2, "time_ms", "is '30000', expected no time before arrival_ms"),
        (5, "time_ms", "is '120000', expected no time after departure_ms"),
    ]
    assert [one.text for one in found.broken] == ["c,30000,1", "b,120000,4"]


def test_containers_that_do_next_to_nothing_are_taken(tmp_path: Path) -> None:
    """Most use less than a thousandth of a core; one uses more than a node has as cores."""
    nodes = tmp_path / "nodes.csv"
    nodes.write_text("node,cpu_milli,memory_bytes\nn1,8000,34359738368\n")
    path = tmp_path / "usage.csv"
    lines = [f"c{at},{60_000 * step},0.4,1e8" for at in range(5) for step in range(3)]
    path.write_text("\n".join(["container,time_ms,cpu_milli,memory_bytes", *lines, "d,0,9,1e8"]))
    found = read("folder", path, {"nodes": (opened(nodes),)})
    assert not found.broken
    assert found.tables["container_amount"].filter(pl.col("resource") == "cpu").height == 16


def test_use_is_looked_at_by_the_nodes_that_are_stored_already(tmp_path: Path) -> None:
    first, later = tmp_path / "first", tmp_path / "later"
    first.mkdir()
    later.mkdir()
    _write(first, "csv")
    for name in ("usage", "background"):
        (first / f"{name}.csv").unlink()
    ingest(first, tmp_path / "store")
    cores = "".join(f"a,{at * 30_000},{900_000 + at}\n" for at in range(4))
    (later / "usage.csv").write_text(f"container,time_ms,cpu_milli\n{cores}")
    with pytest.raises(TracekitError, match="8,000 millicores"):
        ingest(later, tmp_path / "store")


@pytest.mark.slow
def test_prices_alone_need_no_time_and_no_node_has_two(tmp_path: Path) -> None:
    """They hold from the start; a node of which nothing else is known is told."""
    _write(tmp_path, "csv")
    (tmp_path / "node.csv").write_text("node,price_per_hour\nn1,0.4\nn1,0.9\nn1,0.40\nn9,1\n")
    ingest(tmp_path, tmp_path / "store")
    store = open_store(tmp_path / "store")
    with Database(store) as database:
        rejects = database.frame('SELECT source_file, line, "column" FROM reject').rows()
        rows = database.frame("SELECT node, time_ms, price_per_hour FROM node").rows()
    assert ("node.csv", 3, "price_per_hour") in rejects
    assert {one for one in rows if one[2] is not None} == {("n1", 0, 0.4), ("n9", 0, 1.0)}
    assert the(doubts(store), "priced_alone").about["names"] == "n9"


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("name,price_per_hour", "for want of the column node; found: name, price_per_hour"),
        ("node;price_per_hour", "its columns are separated by ';'; expected commas"),
        (
            "node,Price_per_hour,PRICE_PER_HOUR",
            "'Price_per_hour' and 'PRICE_PER_HOUR', each of which may be 'price_per_hour'",
        ),
    ],
)
def test_a_table_of_the_store_with_other_columns_says_which(
    tmp_path: Path, header: str, said: str
) -> None:
    (tmp_path / "node.csv").write_text(f"{header}\nn1,0.4,0.4\n")
    with pytest.raises(TracekitError) as raised:
        ingest(tmp_path, tmp_path / "store")
    assert said in str(raised.value)
