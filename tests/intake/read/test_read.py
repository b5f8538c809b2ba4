"""What becomes of rows, good and broken, on their way from a file."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kubernetes_support import listed, node, pod, written
from reading_support import rows_of
from tests_support import (
    CALL_HEADER,
    NODE_HEADER,
    RATE_HEADER,
    RESOURCE_HEADER,
    TraceFolder,
    csv_text,
    hex_id,
    node_lines,
    tar_gz,
)

from tracekit.base.errors import TracekitError
from tracekit.intake.read import by_reader
from tracekit.intake.read.arrow_rows import Fractions
from tracekit.intake.read.by_reader import ReaderFile
from tracekit.intake.read.discover import discover, identify
from tracekit.intake.read.parse import Counts, parse_block, validate
from tracekit.intake.read.table_file import Reading, open_coded
from tracekit.store.tables import all_tables

NODE = hex_id("node", 0)
GOOD = f"0,{NODE},0.5,0.7"


def read(path: Path) -> tuple[pl.DataFrame, pl.DataFrame, Reading]:
    """The clean rows, the rejects and the reading of the one trace file at ``path``."""
    (file,) = discover(path).files
    return rows_of(open_coded(file))


def read_lines(tmp_path: Path, header: str, lines: list[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    path = tmp_path / "table.csv"
    path.write_text(csv_text(header, lines))
    clean, rejects, _ = read(path)
    return clean, rejects


BROKEN = [
    (f"0,{NODE},abc,0.7", "cpu_fraction"),
    (f"0,{NODE},,0.7", "cpu_fraction"),
    (f"0,{NODE},nan,0.7", "cpu_fraction"),
    (f"0,{NODE},inf,0.7", "cpu_fraction"),
    (f"0,{NODE},-0.5,0.7", "cpu_fraction"),
    (f"0,{NODE},1,5,0.7", None),
    (f"0,{NODE},0.5", None),
    (f"soon,{NODE},0.5,0.7", "time_ms"),
    (f"30000.5,{NODE},0.5,0.7", "time_ms"),
    (f"-30000,{NODE},0.5,0.7", "time_ms"),
    (f"99999999999999999999,{NODE},0.5,0.7", "time_ms"),
    ("0,(?),0.5,0.7", "node"),
    ("0,,0.5,0.7", "node"),
    (f"0,{NODE},0.5,0.7\0", None),
]


@pytest.mark.parametrize(("line", "column"), BROKEN)
@pytest.mark.parametrize("other_broken", [False, True])
def test_a_broken_row_is_rejected_with_its_reason_and_the_others_kept(
    tmp_path: Path, line: str, column: str | None, *, other_broken: bool
) -> None:
    # with another malformed line the block goes the slow way: the answer must be the same
    extra = ["only,two"] if other_broken else []
    clean, rejects = read_lines(
        tmp_path, NODE_HEADER, [GOOD, line, f"30000,{NODE},0.6,0.7", *extra]
    )
    assert clean["time_ms"].to_list() == [0, 30000]
    assert clean["line"].to_list() == [2, 4]
    first = rejects.row(0, named=True)
    assert (first["line"], first["column"]) == (3, column)
    assert first["text"].replace("\\0", "\0") == f"1,{line}"
    assert rejects.height == 1 + other_broken


def test_a_time_written_as_a_whole_float_is_a_time(tmp_path: Path) -> None:
    clean, rejects = read_lines(tmp_path, NODE_HEADER, [f"30000.0,{NODE},0.5,0.7"])
    assert clean["time_ms"].to_list() == [30000]
    assert rejects.is_empty()


def test_bytes_that_are_no_text_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "Node_0.csv"
    path.write_bytes(f"{NODE_HEADER}\n0,{GOOD}\n1,30000,".encode() + b"\xff\xfe,0.5,0.7\n")
    clean, rejects, _ = read(path)
    assert clean.height == 1
    assert rejects.height == 1


def test_values_above_one_are_kept_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "Node_0.csv"
    path.write_text(csv_text(NODE_HEADER, [GOOD, f"30000,{NODE},1.25,0.7"]))
    clean, rejects, reading = read(path)
    assert clean["cpu_fraction"].to_list() == [0.5, 1.25]
    assert rejects.is_empty()
    assert dict(reading.counts.above) == {"cpu_fraction": 1}


def test_names_that_stand_for_unknown_become_null_and_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "MSCallGraph_0.csv"
    trace = "0b133c1915919238193454000e5d37"
    rows = [
        f"{trace},1,0.{n},{um},rpc,{dm},,1"
        for n, (um, dm) in enumerate(
            [("(?)", "a" * 64), ("", "(?)"), ("NAN", "b" * 64), ("c" * 64, "(?)")]
        )
    ]
    path.write_text(csv_text(CALL_HEADER, rows))
    clean, rejects, reading = read(path)
    assert rejects.is_empty()
    assert clean["upstream"].to_list() == [None, None, None, "c" * 64]
    assert dict(reading.counts.missing) == {
        ("upstream", "(?)"): 1,
        ("upstream", ""): 1,
        ("upstream", "NAN"): 1,
        ("downstream", "(?)"): 2,
    }


def test_negative_response_times_are_as_recorded(tmp_path: Path) -> None:
    line = f"t1,5,0.1,{'a' * 64},rpc,{'b' * 64},i,-7"
    clean, rejects = read_lines(tmp_path, CALL_HEADER, [line])
    assert clean["response_time_ms"].to_list() == [-7.0]
    assert rejects.is_empty()


@pytest.mark.parametrize(
    ("header", "line"),
    [
        (RESOURCE_HEADER, f"s,c,{NODE},0.5,0.6,30000"),
        (RESOURCE_HEADER[1:], f"s,c,{NODE},0.5,0.6,30000"),
        (
            "timestamp,msname,msinstanceid,nodeid,cpu_utilization,memory_utilization",
            f"30000,s,c,{NODE},0.5,0.6",
        ),
    ],
)
def test_columns_are_found_whatever_their_place_and_spelling(
    tmp_path: Path, header: str, line: str
) -> None:
    clean, _ = read_lines(tmp_path, header, [line])
    row = clean.row(0, named=True)
    assert row == {
        "time_ms": 30000,
        "service": "s",
        "container": "c",
        "node": NODE,
        "cpu_fraction": 0.5,
        "memory_fraction": 0.6,
        "line": 2,
    }


def test_a_metric_may_be_called_metrics(tmp_path: Path) -> None:
    clean, _ = read_lines(
        tmp_path, RATE_HEADER.replace("metric", "metrics"), ["0,s,c,providerRPC_MCR,1.5"]
    )
    assert clean["metric"].to_list() == ["providerRPC_MCR"]


def test_every_packing_gives_the_same_rows(traces: TraceFolder, tmp_path: Path) -> None:
    text = (traces.path / "Node_0.csv").read_text()
    packed = tmp_path / "packed"
    packed.mkdir()
    (packed / "plain.csv").write_text(text)
    (packed / "windows.csv").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    (packed / "a_table").write_bytes(gzip.compress(text.encode()))
    tar_gz(packed / "bare.tar.gz", {"Node_0.csv": text})
    tar_gz(packed / "folder.tgz", {"Node_0/._Node_0.csv": "junk", "Node_0/Node_0.csv": text})
    tar_gz(packed / "readme.tar.gz", {"README.md": "about", "Node_0.csv": text})
    pl.read_csv(packed / "plain.csv").rename({"": "i"}).write_parquet(packed / "t.parquet")
    frames = [read(path)[0].drop("line") for path in sorted(packed.iterdir())]
    assert len(frames) == 7
    assert frames[0].height == len(node_lines())
    assert all(frame.equals(frames[0]) for frame in frames)


def test_two_tables_in_one_archive_are_refused(traces: TraceFolder, tmp_path: Path) -> None:
    path = tmp_path / "both.tar.gz"
    names = ("Node_0.csv", "MSRTQps_0.csv")
    tar_gz(path, {name: (traces.path / name).read_text() for name in names})
    with pytest.raises(TracekitError):
        read(path)


FIELD = st.one_of(
    st.sampled_from(["", "0.5", "abc", "nan", "-1", "1e-3", NODE, "(?)", "0", "30000"]),
    st.text(alphabet="0123456789.ae-", max_size=6),
)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.lists(FIELD, min_size=3, max_size=6), min_size=1, max_size=8))
def test_every_line_is_either_kept_or_rejected(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]
) -> None:
    path = tmp_path_factory.mktemp("any") / "Node_0.csv"
    text = NODE_HEADER + "\n" + "".join(",".join(row) + "\n" for row in rows)
    path.write_text(text)
    clean, rejects, _ = read(path)
    lines = sorted(clean["line"].to_list() + rejects["line"].to_list())
    assert lines == list(range(2, 2 + len(rows)))
    for line in clean["line"].to_list():
        index, time, node, cpu, memory = rows[line - 2]
        del index, node
        assert float(time) >= 0
        assert float(cpu) >= 0
        assert float(memory) >= 0


def test_a_short_and_a_long_line_do_not_balance_each_other(tmp_path: Path) -> None:
    lines = [GOOD, f"0,{NODE},0.5", f"0,{NODE},1,5,0.7", GOOD.replace("0,", "30000,", 1)]
    clean, _rejects = read_lines(tmp_path, NODE_HEADER, lines)
    assert clean["line"].to_list() == [2, 5]


ODD_LINES = [b"\xef\xbb\xbf30000,n,0.5,0.5\n", b"30000,n\r,0.5,0.5\n", b"30000,n,0.5\r,0.5\n"]


@pytest.mark.parametrize("line", ODD_LINES)
@pytest.mark.parametrize("first", [True, False])
def test_what_a_reader_would_silently_drop_is_rejected(line: bytes, first: bool) -> None:
    """Wherever in a block the line stands: small files and large ones are cut differently."""
    table = all_tables()["node_usage"]
    good = b"0,n,0.5,0.5\n"
    parsed = parse_block(line if first else good + line, table, [0, 1, 2, 3], 4, 2)
    clean = validate(parsed, table, frozenset(), Counts())
    assert clean.frame.height == (0 if first else 1)
    assert clean.rejects.height == 1


# Shares far above 1 are percentages or amounts, and the file that gives them is refused.


def _noted(*batches: list[float], unit: str = "fraction", column: str = "amount") -> Fractions:
    fractions = Fractions()
    for batch in batches:
        rows = {"resource": ["cpu"] * len(batch), column: batch, "unit": [unit] * len(batch)}
        fractions.note("node_resource", pl.DataFrame(rows))
    return fractions


@pytest.mark.parametrize("batches", [([50.0, 25.0], [0.5]), ([4000.0], [5000.0], [1.0])])
def test_most_above_1_over_all_batches_is_refused(batches: tuple[list[float], ...]) -> None:
    with pytest.raises(TracekitError):
        _noted(*batches).check("x.csv")


@pytest.mark.parametrize(
    "noted",
    [
        _noted([0.5, 1.0, 1.0]),
        _noted([2.0, 0.5], [0.1]),
        _noted([50.0, 60.0], unit="cores"),
        _noted([]),
        _noted([float("nan"), float("nan"), 0.5]),
    ],
)
def test_shares_as_they_are_pass(noted: Fractions) -> None:
    noted.check("x.csv")


# Broken rows of a source that is read by code: all of them, in order, many to a block.

_BROKEN = 50


def _rejected(folder: Path) -> tuple[int, list[tuple[str, int]]]:
    """How many blocks a file's reader gives, and table and line of every reject, in order."""
    file = identify(folder / "cluster.json", "cluster.json", "auto")
    blocks = [(table, rows.rejects) for table, rows in ReaderFile(file, folder).blocks(print)]
    return len(blocks), [(table, line) for table, one in blocks for line in one["line"].to_list()]


@pytest.mark.slow
def test_broken_rows_wait_for_others_of_their_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = [pod(f"lost-{at}", nodeName="n9") for at in range(_BROKEN)]
    written(tmp_path / "cluster.json", listed({}, node("n1"), *lost, node(""), pod("web-1")))
    blocks, rejects = _rejected(tmp_path)
    monkeypatch.setattr(by_reader, "_BLOCK_REJECTS", 1)
    one_by_one, as_before = _rejected(tmp_path)
    assert rejects == as_before
    assert [line for table, line in rejects if table == "container"] == [1, *range(3, 3 + _BROKEN)]
    assert blocks <= one_by_one - _BROKEN
