"""A file is in the store or it is not; the same files give the same bytes."""

from __future__ import annotations

import errno
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from tests_support import (
    CALL_HEADER,
    NODE_HEADER,
    TraceFolder,
    csv_text,
    hex_id,
    node_lines,
    tar_gz,
)

from tracekit.errors import CheckFailedError, TracekitError
from tracekit.ingest import blocks
from tracekit.query import Database
from tracekit.store import ingest, open_store, stage
from tracekit.store.folder import STAGING
from tracekit.store.lock import exclusive


def tree(folder: Path) -> dict[str, str]:
    """The sha256 of every file of a folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_rows_come_back_as_they_were(traces: TraceFolder, tmp_path: Path) -> None:
    ingest(traces.path, tmp_path / "store")
    with Database(open_store(tmp_path / "store")) as database:
        got = database.frame(
            "SELECT time_ms, node, cpu_fraction, memory_fraction FROM node_usage ORDER BY ALL"
        )
    expected = sorted(
        (int(time), node, float(cpu), float(memory))
        for time, node, cpu, memory in (line.split(",") for line in node_lines())
    )
    assert got.rows() == expected


def test_the_manifest_accounts_for_every_row(traces: TraceFolder, tmp_path: Path) -> None:
    traces.write(
        "Node_1.csv",
        NODE_HEADER,
        [f"0,{hex_id('node', 9)},0.5,0.5", f"0,{hex_id('node', 9)},abc,0.5"],
    )
    summary = ingest(traces.path, tmp_path / "store")
    entries = {entry.file: entry for entry in summary.ingested}
    assert len(entries) == 5
    for entry in entries.values():
        assert entry.rows_read == entry.rows + entry.rejected + entry.duplicates_dropped
    node = entries["Node_1.csv"]
    assert (node.rows, node.rejected, node.part) == (1, 1, 1)
    call = entries["MSCallGraph_0.csv"]
    assert (call.rows_read, call.rows, call.duplicates_dropped) == (7, 6, 1)


def test_rejects_say_file_line_column_reason_and_text(traces: TraceFolder, tmp_path: Path) -> None:
    traces.write("Node_1.csv", NODE_HEADER, [f"0,{hex_id('node', 9)},abc,0.5"])
    ingest(traces.path, tmp_path / "store")
    with Database(open_store(tmp_path / "store")) as database:
        (row,) = database.rows("SELECT * FROM reject")
    assert row == {
        "table": "node_usage",
        "source_file": "Node_1.csv",
        "line": 2,
        "column": "cpu_fraction",
        "reason": "is 'abc', expected a number",
        "text": f"0,0,{hex_id('node', 9)},abc,0.5",
    }


def test_duplicates_are_dropped_and_the_first_is_kept(tmp_path: Path) -> None:
    node, other = hex_id("node", 0), hex_id("node", 1)
    lines = [
        f"30000,{node},0.5,0.5",
        f"0,{other},0.1,0.1",
        f"30000,{node},0.6,0.5",
        f"30000,{node},0.5,0.5",
        f"0,{node},0.4,0.5",
    ]
    path = tmp_path / "Node_0.csv"
    path.write_text(csv_text(NODE_HEADER, lines))
    (entry,) = ingest(path, tmp_path / "store").ingested
    assert entry.duplicates_dropped == 2
    assert {d.defect: (d.rows, d.example) for d in entry.defects} == {
        "exact_duplicate": (1, "line 5"),
        "conflicting_duplicate": (1, "line 4"),
    }
    with Database(open_store(tmp_path / "store")) as database:
        kept = database.frame("SELECT cpu_fraction FROM node_usage WHERE time_ms = 30000")
    assert kept["cpu_fraction"].to_list() == [0.5]


def test_duplicates_are_found_across_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracekit.store.sort.ROW_GROUP_ROWS", 2048)
    lines = [f"{step * 30000},{hex_id('node', 0)},0.5,0.5" for step in range(5000)]
    path = tmp_path / "Node_0.csv"
    path.write_text(csv_text(NODE_HEADER, lines + lines + lines[:10]))
    (entry,) = ingest(path, tmp_path / "store").ingested
    assert (entry.rows, entry.duplicates_dropped) == (5000, 5010)


def test_calls_are_duplicates_only_when_equal_in_every_column(tmp_path: Path) -> None:
    a, b = hex_id("service", 0), hex_id("service", 1)
    same = f"t1,5,0.1,{a},mc,{b},,1"
    lines = [same, f"t1,5,0.1,{a},rpc,{b},i,1", f"t1,5,0.1,{a},rpc,{b},i,-1", same]
    path = tmp_path / "MSCallGraph_0.csv"
    path.write_text(csv_text(CALL_HEADER, lines))
    (entry,) = ingest(path, tmp_path / "store").ingested
    assert (entry.rows, entry.duplicates_dropped) == (3, 1)


def test_ids_are_small_integers_and_rows_lie_in_the_stores_order(
    traces: TraceFolder, tmp_path: Path
) -> None:
    ingest(traces.path, tmp_path / "store")
    part = tmp_path / "store" / "tables" / "container_usage" / "part-00000.parquet"
    schema = pq.read_schema(part)
    assert str(schema.field("container_key").type) == "int32"
    rows = pl.read_parquet(part).select("node_key", "container_key", "time_ms").rows()
    assert rows == sorted(rows)


def test_the_same_files_give_the_same_bytes(traces: TraceFolder, tmp_path: Path) -> None:
    ingest(traces.path, tmp_path / "one")
    ingest(traces.path, tmp_path / "two")
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


def test_the_block_size_does_not_show(
    traces: TraceFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(traces.path, tmp_path / "one")
    monkeypatch.setattr(blocks.lines_in_blocks, "__defaults__", (700, 0))
    ingest(traces.path, tmp_path / "two")
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


def test_running_again_takes_nothing_twice(traces: TraceFolder, tmp_path: Path) -> None:
    store = tmp_path / "store"
    ingest(traces.path, store)
    before = tree(store)
    summary = ingest(traces.path, store)
    assert summary.ingested == []
    assert len(summary.known) == 4
    assert tree(store) == before


def test_a_copy_packed_otherwise_is_known_again(traces: TraceFolder, tmp_path: Path) -> None:
    store = tmp_path / "store"
    tar_gz(traces.path / "Node.tar.gz", {"Node_0.csv": (traces.path / "Node_0.csv").read_text()})
    summary = ingest(traces.path, store)
    assert summary.known == [("Node_0.csv", "Node.tar.gz")]
    assert open_store(store).manifest.parts("node_usage")[0].rows == len(node_lines())


def test_adding_files_later_keeps_the_keys_that_were_given(
    traces: TraceFolder, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    ingest(traces.path / "Node_0.csv", store)
    before = pl.read_parquet(store / "dimensions" / "node.parquet")
    traces.write("Node_1.csv", NODE_HEADER, [f"0,{hex_id('node', 50)},0.5,0.5"])
    ingest(traces.path, store)
    after = pl.read_parquet(store / "dimensions" / "node.parquet")
    assert after.head(before.height).equals(before)
    assert after.height == before.height + 1


def test_one_by_one_or_all_at_once_is_the_same(traces: TraceFolder, tmp_path: Path) -> None:
    ingest(traces.path, tmp_path / "one")
    for name in sorted(path.name for path in traces.path.iterdir()):
        ingest(traces.path / name, tmp_path / "two")
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


KILLED_AT = """
import os, sys
from tracekit.store import coordinate, dimensions, ingest, stage, write

modules = {"coordinate": coordinate, "dimensions": dimensions, "stage": stage, "write": write}
module = modules[sys.argv[3]]
real, calls = getattr(module, sys.argv[4]), 0

def killing(*args, **options):
    global calls
    calls += 1
    if calls == int(sys.argv[5]):
        os._exit(137)
    return real(*args, **options)

setattr(module, sys.argv[4], killing)
ingest(sys.argv[1], sys.argv[2])
"""


@pytest.mark.parametrize(
    ("module", "name", "at"),
    [
        ("write", "write_manifest", 1),
        ("write", "write_manifest", 3),
        ("write", "write_catalog", 1),
        ("dimensions", "write_dimension", 2),
        ("stage", "write_sorted", 2),
        ("coordinate", "_move", 1),
        ("coordinate", "_move", 4),
        ("coordinate", "_move", 9),
    ],
)
def test_a_killed_ingest_goes_on_to_the_same_bytes(
    traces: TraceFolder, tmp_path: Path, module: str, name: str, at: int
) -> None:
    ingest(traces.path, tmp_path / "undisturbed")
    store = tmp_path / "store"
    arguments = [str(traces.path), str(store), module, name, str(at)]
    killed = subprocess.run([sys.executable, "-c", KILLED_AT, *arguments], check=False)
    assert killed.returncode == 137
    ingest(traces.path, store)
    (store / ".lock").unlink(missing_ok=True)
    assert tree(store) == tree(tmp_path / "undisturbed")


def test_a_truncated_archive_leaves_the_store_as_it_was(
    traces: TraceFolder, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    ingest(traces.path, store)
    before = tree(store)
    bad = tmp_path / "bad"
    bad.mkdir()
    tar_gz(bad / "Node_7.tar.gz", {"Node_7.csv": csv_text(NODE_HEADER, node_lines(9, 400))})
    whole = (bad / "Node_7.tar.gz").read_bytes()
    (bad / "Node_7.tar.gz").write_bytes(whole[:-20])
    with pytest.raises(TracekitError, match=r"Node_7.tar.gz is truncated"):
        ingest(bad, store)
    assert tree(store) == before


def test_a_failed_first_ingest_leaves_no_folder(traces: TraceFolder, tmp_path: Path) -> None:
    whole = tmp_path / "Node_0.csv.gz"
    tar_gz(whole, {"Node_0.csv": (traces.path / "Node_0.csv").read_text()})
    whole.write_bytes(whole.read_bytes()[:-10])
    with pytest.raises(TracekitError):
        ingest(whole, tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_the_good_files_beside_a_damaged_one_go_in(traces: TraceFolder, tmp_path: Path) -> None:
    bad = traces.path / "Node_7.tar.gz"
    rng = np.random.Generator(np.random.PCG64(1))
    values = rng.random((30000, 2)).tolist()
    lines = [f"{at * 30000},{hex_id('node', 1)},{c!r},{m!r}" for at, (c, m) in enumerate(values)]
    tar_gz(bad, {"Node_7.csv": csv_text(NODE_HEADER, lines)})
    bad.write_bytes(bad.read_bytes()[:-20])
    with pytest.raises(TracekitError, match=r"is truncated.*; 4 other files went in"):
        ingest(traces.path, tmp_path / "store")
    assert len(open_store(tmp_path / "store").manifest.sources) == 4


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_one_clear_error_and_nothing_is_lost(
    traces: TraceFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    store = tmp_path / "store"
    ingest(traces.path / "Node_0.csv", store)
    before = tree(store)

    def full(*_args: object, **_options: object) -> None:
        raise OSError(code, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(stage, "write_sorted", full)
        with pytest.raises(TracekitError, match="the disk is full while writing"):
            ingest(traces.path, store)
    assert tree(store) == before


def test_ctrl_c_leaves_the_store_as_it_was(
    traces: TraceFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    ingest(traces.path / "Node_0.csv", store)
    before = tree(store)

    def interrupted(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(stage, "write_sorted", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ingest(traces.path, store)
    assert tree(store) == before
    assert not (store / STAGING).exists()


def test_a_second_writer_is_told_who_holds_the_store(traces: TraceFolder, tmp_path: Path) -> None:
    store = tmp_path / "store"
    ingest(traces.path, store)
    with (
        exclusive(store),
        pytest.raises(TracekitError, match=r"is being written by process \d+ on"),
    ):
        ingest(traces.path, store)


def test_too_many_broken_rows_are_refused_when_asked(tmp_path: Path) -> None:
    node = hex_id("node", 0)
    good = [f"{step * 30000},{node},0.5,0.5" for step in range(98)]
    path = tmp_path / "Node_0.csv"
    path.write_text(csv_text(NODE_HEADER, [*good, f"0,{node},x,0.5", f"0,{node},y,0.5"]))
    with pytest.raises(CheckFailedError, match=r"2 of 100 rows are broken \(2.0 %\)"):
        ingest(path, tmp_path / "store", max_rejects_fraction=0.01)
    assert not (tmp_path / "store").exists()
    ingest(path, tmp_path / "store", max_rejects_fraction=0.02)


def test_a_file_of_broken_rows_only_is_in_with_nothing_but_rejects(tmp_path: Path) -> None:
    path = tmp_path / "Node_0.csv"
    path.write_text(csv_text(NODE_HEADER, ["a,b,c,d"] * 5))
    (entry,) = ingest(path, tmp_path / "store").ingested
    assert (entry.rows, entry.rejected) == (0, 5)
    with Database(open_store(tmp_path / "store")) as database:
        assert database.scalar("SELECT count(*) FROM node_usage") == 0


def test_a_file_with_a_header_only(tmp_path: Path) -> None:
    path = tmp_path / "Node_0.csv"
    path.write_text(NODE_HEADER + "\n")
    (entry,) = ingest(path, tmp_path / "store").ingested
    assert (entry.rows_read, entry.rows, entry.time_min_ms) == (0, 0, None)


def test_a_folder_that_is_no_store_is_not_written_to(traces: TraceFolder, tmp_path: Path) -> None:
    other = tmp_path / "photos"
    other.mkdir()
    (other / "cat.jpg").write_text("x")
    with pytest.raises(TracekitError, match="is not empty and not a store"):
        ingest(traces.path, other)
    assert [path.name for path in other.iterdir()] == ["cat.jpg"]


def test_a_store_of_a_newer_format_is_refused_and_left_alone(
    traces: TraceFolder, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    ingest(traces.path, store)
    manifest = store / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"format_version": 1', '"format_version": 9'))
    before = tree(store)
    with pytest.raises(TracekitError, match="is a store of format 9, this tracekit reads up to 1"):
        open_store(store)
    with pytest.raises(TracekitError, match="format 9"):
        ingest(traces.path, store)
    assert tree(store) == before


def test_a_store_can_be_moved(traces: TraceFolder, tmp_path: Path) -> None:
    ingest(traces.path, tmp_path / "store")
    shutil.move(tmp_path / "store", tmp_path / "else where's")
    with Database(open_store(tmp_path / "else where's")) as database:
        assert database.scalar("SELECT count(*) FROM node_usage") == len(node_lines())
