"""OpenDC's tasks, fragments and topologies: MHz become cores, durations become times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reading_support import opened, read, recognised
from tests_support import shared_data

from tracekit.errors import TracekitError
from tracekit.ingest import ingest
from tracekit.query import Database
from tracekit.store import open_store

TASKS = pl.DataFrame(
    {
        "id": [1, 2],
        "submission_time": [1000, 5000],
        "duration": [900, 100],
        "cpu_count": [4, 1],
        "cpu_capacity": [8000.0, 2000.0],
        "mem_capacity": [1024, 10],
        "gpu_count": [2, None],
        "gpu_capacity": [100.0, None],
    },
    schema_overrides={"id": pl.Int32},
)
FRAGMENTS = pl.DataFrame(
    {
        "id": [1, 2, 1, 1],
        "duration": [300, 100, 500, 100],
        "cpu_usage": [4000.0, 0.0, 2000.0, 0.0],
        "gpu_usage": [50.0, 0.0, 100.0, 0.0],
    },
    schema_overrides={"id": pl.Int32},
)


def _host(name: str, memory: Any, **more: Any) -> dict[str, Any]:
    cpu = {"coreCount": 16, "coreSpeed": 2100}
    return {"name": name, "cpu": cpu, "memory": {"memorySize": memory}, **more}


TOPOLOGY = {
    "clusters": [
        {
            "name": "C1",
            "hosts": [
                _host("H1", 1000, count=2),
                _host("H2", "549755813888 bytes", cpu={"coreCount": 8, "coreSpeed": 1, "count": 2}),
            ],
        },
        {"name": "C2", "count": 2, "hosts": [_host("H1", "2 GiB", gpu={"count": 4})]},
    ]
}


def _files(folder: Path) -> dict[str, Path]:
    paths = {
        "tasks": folder / "tasks.parquet",
        "fragments": folder / "fragments.parquet",
        "topology": folder / "small.json",
    }
    TASKS.write_parquet(paths["tasks"])
    FRAGMENTS.write_parquet(paths["fragments"])
    paths["topology"].write_text(json.dumps(TOPOLOGY, indent=2))
    return paths


def test_files_are_known_by_their_columns_and_keys(tmp_path: Path) -> None:
    for word, path in _files(tmp_path).items():
        assert recognised(path) == [("opendc", word)]


def test_a_task_is_a_container(tmp_path: Path) -> None:
    found = read("opendc", _files(tmp_path)["tasks"])
    assert found.broken == []
    assert found.rows("container", "container", "time_ms", "departure_ms", "position") == [
        ("1", 1000, 1900, 1),
        ("2", 5000, 5100, 2),
    ]
    assert found.rows("container_resource", "container", "resource", "request", "unit") == [
        ("1", "cpu", 4.0, "cores"),
        ("1", "memory", 2.0**30, "bytes"),
        ("1", "gpu", 2.0, "count"),
        ("2", "cpu", 1.0, "cores"),
        ("2", "memory", 10 * 2.0**20, "bytes"),
    ]


@pytest.mark.parametrize(("largest", "unit"), [(4 << 20, 2.0**20), ((4 << 20) + 1, 2.0**10)])
def test_memory_is_kb_where_mb_would_be_too_much(tmp_path: Path, largest: int, unit: float) -> None:
    path = tmp_path / "tasks.parquet"
    TASKS.with_columns(mem_capacity=pl.Series([10, largest])).write_parquet(path)
    asked = read("opendc", path).tables["container_resource"].filter(resource="memory")
    assert asked["request"].to_list() == [10 * unit, largest * unit]


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_fragments_follow_each_other(
    tmp_path: Path, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracekit.sources._columns._BLOCK_ROWS", rows)
    paths = _files(tmp_path)
    found = read("opendc", paths["fragments"], {"tasks": (opened(paths["tasks"]),)})
    assert found.broken == []
    table = found.tables["container_amount"].filter(resource="cpu").sort("line")
    assert table.select("container", "time_ms", "amount").rows() == [
        ("1", 1000, 2.0),
        ("2", 5000, 0.0),
        ("1", 1300, 1.0),
        ("1", 1800, 0.0),
    ]
    gpu = found.tables["container_amount"].filter(resource="gpu", container="1")
    assert gpu["amount"].to_list() == [1.0, 2.0, 0.0]


def test_hosts_are_counted_out(tmp_path: Path) -> None:
    found = read("opendc", _files(tmp_path)["topology"])
    assert found.rows("node_resource", "node", "resource", "amount") == [
        ("C1/H1-0", "cpu", 16.0),
        ("C1/H1-0", "memory", 1000 * 2.0**20),
        ("C1/H1-1", "cpu", 16.0),
        ("C1/H1-1", "memory", 1000 * 2.0**20),
        ("C1/H2", "cpu", 16.0),
        ("C1/H2", "memory", 2.0**39),
        ("C2-0/H1", "cpu", 16.0),
        ("C2-0/H1", "memory", 2.0**31),
        ("C2-0/H1", "gpu", 4.0),
        ("C2-1/H1", "cpu", 16.0),
        ("C2-1/H1", "memory", 2.0**31),
        ("C2-1/H1", "gpu", 4.0),
    ]


def test_what_is_broken_is_told(tmp_path: Path) -> None:
    paths = _files(tmp_path)
    wrong = {"id": [9, 1, 2], "duration": [300, -1, 100], "cpu_usage": [1.0, 1.0, 3.0]}
    pl.DataFrame(wrong, schema_overrides={"id": pl.Int32}).write_parquet(paths["fragments"])
    TASKS.with_columns(
        duration=pl.Series([0, 100]), cpu_capacity=pl.Series([8000.0, 0.0])
    ).write_parquet(paths["tasks"])
    tasks = read("opendc", paths["tasks"])
    assert tasks.reasons == [(1, "duration", "is '0', expected more than 0")]
    found = read("opendc", paths["fragments"], {"tasks": (opened(paths["tasks"]),)})
    assert sorted(found.reasons) == [
        (1, "id", "is '9', expected a task of the tasks beside"),
        (2, "duration", "is '-1', expected more than 0"),
        (3, "cpu_usage", "is '3.0', expected 0, as the task has no MHz"),
    ]
    with pytest.raises(TracekitError, match="fragments without the tasks"):
        read("opendc", paths["fragments"])


COUNT = "expected a whole number, 1 to 1,000,000"
#: Hosts beside a good one, and what is said of them.
HOSTS: list[tuple[Any, str]] = [
    (_host("a", "1 stone"), "memory.memorySize is '1 stone', expected a number of MB, or one with"),
    (_host("a", None), "memory.memorySize is null, expected a number, 0 or more"),
    (_host("a", -1), "memory.memorySize is -1, expected a number, 0 or more"),
    (_host("a", 1, count=-1), f"count is -1, {COUNT}"),
    (_host("a", 1, count=0), f"count is 0, {COUNT}"),
    (_host("a", 1, count=2.7), f"count is 2.7, {COUNT}"),
    (_host("a", 1, count="3"), f'count is "3", {COUNT}'),
    (_host("a", 1, count=10**9), f"count is 1000000000, {COUNT}"),
    (_host("a", 1, cpu={"coreSpeed": 1}), "cpu has no coreCount"),
    (_host("a", 1, cpu={"coreCount": "x"}), 'cpu.coreCount is "x", expected a number, 0 or more'),
    (_host("a", 1, cpu={"coreCount": 2, "count": -2}), "cpu.count is -2, expected a number"),
    (_host("a", 1, cpu=8), "cpu is 8, expected an object"),
    ({**_host("a", 1), "memory": {}}, "memory has no memorySize"),
    ({"name": "a"}, "has no cpu"),
    (5, "is 5, expected an object"),
]


@pytest.mark.parametrize(("host", "reason"), HOSTS)
def test_a_broken_host_is_told_in_words_and_the_others_are_kept(
    tmp_path: Path, host: Any, reason: str
) -> None:
    path = tmp_path / "small.json"
    hosts = [_host("H1", 1000), host, _host("H2", 1000)]
    path.write_text(json.dumps({"clusters": [{"name": "C", "hosts": hosts}]}))
    found = read("opendc", path)
    assert [one.line for one in found.broken] == [2]
    assert found.broken[0].reason.startswith(reason)
    assert found.rows("node", "node") == [("C/H1",), ("C/H2",)]


@pytest.mark.parametrize(
    ("cluster", "reason"),
    [
        ({"name": "D", "count": 0, "hosts": [_host("H1", 1)]}, f"count is 0, {COUNT}"),
        ({"name": "D", "hosts": 7}, "hosts is 7, expected a list"),
        (None, "is null, expected an object"),
    ],
)
def test_a_broken_cluster_is_told(tmp_path: Path, cluster: Any, reason: str) -> None:
    path = tmp_path / "small.json"
    good = {"name": "C", "hosts": [_host("H1", 1000)]}
    path.write_text(json.dumps({"clusters": [good, cluster, {**good, "name": "E"}]}))
    found = read("opendc", path)
    assert found.reasons == [(2, None, reason)]
    assert found.rows("node", "node") == [("C/H1",), ("E/H1",)]


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_of_two_tasks_of_one_id_the_first_counts(
    tmp_path: Path, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracekit.sources._columns._BLOCK_ROWS", rows)
    path = tmp_path / "tasks.parquet"
    again = TASKS.head(1).with_columns(cpu_count=pl.lit(9, pl.Int64), submission_time=6000)
    again = again.select(pl.col(name).cast(kind) for name, kind in TASKS.schema.items())
    pl.concat([TASKS, again]).write_parquet(path)
    found = read("opendc", path)
    assert found.reasons == [(3, "id", "is '1', expected an id that no task before has")]
    assert found.rows("container", "container", "time_ms") == [("1", 1000), ("2", 5000)]
    assert 9.0 not in found.tables["container_resource"]["request"]


def test_a_simulation_in_a_store(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.mkdir()
    _files(trace)
    ingest(trace, tmp_path / "store")
    with Database(open_store(tmp_path / "store")) as database:
        nodes = "SELECT sum(amount) FROM node_resource WHERE resource = 'cpu'"
        assert database.frame(nodes).item() == 80
        used = "SELECT count(*), sum(amount) FROM container_amount WHERE resource = 'cpu'"
        assert database.frame(used).rows() == [(4, 3.0)]


@pytest.mark.parametrize("again", ["tasks", "topology"])
def test_a_second_workload_or_topology_is_refused(tmp_path: Path, again: str) -> None:
    trace = tmp_path / "trace"
    trace.mkdir()
    path = _files(trace)[again]
    if again == "tasks":
        TASKS.with_columns(id=pl.col("id") + 7).write_parquet(trace / "others.parquet")
    else:
        (trace / "others.json").write_text(path.read_text().replace("H1", "H9"))
    with pytest.raises(TracekitError, match="others") as told:
        ingest(trace, tmp_path / "store")
    assert "of its own" in str(told.value)


def test_the_real_tasks_and_topologies() -> None:
    folder = shared_data("opendc")
    paths = {
        word: folder / "bitbrains-small" / f"{word}.parquet" for word in ("tasks", "fragments")
    }
    tasks = read("opendc", paths["tasks"])
    assert tasks.broken == []
    assert tasks.tables["container"].height == 50
    asked = tasks.tables["container_resource"].filter(resource="memory", container="1023")
    assert asked["request"].to_list() == [254 * 2.0**20]
    found = read("opendc", paths["fragments"], {"tasks": (opened(paths["tasks"]),)})
    assert found.broken == []
    used = found.tables["container_amount"]
    assert used.height == 276_979
    lives = tasks.tables["container"].select("container", "departure_ms")
    late = used.join(lives, on="container").filter(pl.col("time_ms") >= pl.col("departure_ms"))
    assert late.height == 0
    nodes = {
        name: read("opendc", folder / "topologies" / f"{name}.json").tables["node"].height
        for name in ("surf", "borg", "marconi")
    }
    assert nodes == {"surf": 277, "borg": 1534, "marconi": 972}
    assert recognised(folder / "topologies" / "TopologySchema.json") == []


def test_seconds_since_1970_are_met(tmp_path: Path) -> None:
    """As the repository's small_gpu has them; they were January 1970, a day was 86 seconds."""
    paths = _files(tmp_path)
    at = 1_704_067_200
    tasks = TASKS.with_columns(submission_time=pl.Series([at, at + 60], dtype=pl.Int64))
    tasks.write_parquet(paths["tasks"])
    found = read("opendc", paths["tasks"])
    assert found.rows("container", "time_ms", "departure_ms") == [
        (at * 1000, (at + 900) * 1000),
        ((at + 60) * 1000, (at + 160) * 1000),
    ]
    use = read("opendc", paths["fragments"], {"tasks": (opened(paths["tasks"]),)})
    times = {row[0] for row in use.rows("container_amount", "time_ms")}
    assert times == {(at + after) * 1000 for after in (0, 60, 300, 800)}
    # ms, as documented: relative ones, and those since 1970
    for first in (0, at * 1000):
        TASKS.with_columns(
            submission_time=pl.Series([first, first + 2_000_000_000], dtype=pl.Int64)
        ).write_parquet(paths["tasks"])
        rows = read("opendc", paths["tasks"]).rows("container", "time_ms")
        assert rows == [(first,), (first + 2_000_000_000,)]
