"""What goes into a store: rows and keys, rejects, and a manifest that accounts for every row."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from store_support import ingest_one, tree
from tests_support import NODE_HEADER, TraceFolder, hex_id, node_lines, tar_gz

from tracekit.base.constants import SYNTH_SCHEMA
from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest
from tracekit.intake.ingest.summary import is_made_up
from tracekit.intake.read import blocks
from tracekit.store.folder import open_store, read_manifest
from tracekit.store.query import Database


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


def test_ids_are_small_integers_and_rows_lie_in_the_stores_order(
    traces: TraceFolder, tmp_path: Path
) -> None:
    ingest(traces.path, tmp_path / "store")
    part = tmp_path / "store" / "tables" / "container_usage" / "part-00000.parquet"
    schema = pq.read_schema(part)
    assert str(schema.field("container_key").type) == "int32"
    rows = pl.read_parquet(part).select("node_key", "container_key", "time_ms").rows()
    assert rows == sorted(rows)


def test_a_file_of_broken_rows_only_is_in_with_nothing_but_rejects(tmp_path: Path) -> None:
    with pytest.raises(TracekitError):
        ingest_one(tmp_path, "Node_0.csv", NODE_HEADER, ["a,b,c,d"] * 5)
    (entry,) = open_store(tmp_path / "store").manifest.sources
    assert (entry.rows, entry.rejected) == (0, 5)
    with Database(open_store(tmp_path / "store")) as database:
        assert database.scalar("SELECT count(*) FROM node_usage") == 0


# Ingest again: the same files give the same bytes, known ones are passed over, keys stay.


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
    before = open_store(store).dimension_files("node")
    bytes_before = [path.read_bytes() for path in before]
    first_ids = pl.read_parquet(before)
    traces.write("Node_1.csv", NODE_HEADER, [f"0,{hex_id('node', 50)},0.5,0.5"])
    ingest(traces.path, store)
    after = open_store(store).dimension_files("node")
    assert after[: len(before)] == before
    assert [path.read_bytes() for path in before] == bytes_before
    ids = pl.read_parquet(after)
    assert ids.head(first_ids.height).equals(first_ids)
    assert ids.height == first_ids.height + 1


def test_one_by_one_or_all_at_once_is_the_same(traces: TraceFolder, tmp_path: Path) -> None:
    ingest(traces.path, tmp_path / "one")
    for name in sorted(path.name for path in traces.path.iterdir()):
        ingest(traces.path / name, tmp_path / "two")
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


# A store knows that its trace was made up; a report says so.


def _truth(folder: Path, document: str) -> None:
    (folder / "truth").mkdir(parents=True)
    (folder / "truth" / "manifest.json").write_text(document)


CASES = {
    "written by synth": (json.dumps({"schema": SYNTH_SCHEMA}), True),
    "of another kind": (json.dumps({"schema": "other/1"}), False),
    "no object": ("[]", False),
    "no JSON": ("{", False),
}


@pytest.mark.parametrize("case", CASES)
def test_the_truth_beside_a_trace_tells(case: str, tmp_path: Path) -> None:
    text, expected = CASES[case]
    _truth(tmp_path, text)
    (tmp_path / "node").mkdir()
    assert is_made_up(tmp_path) is expected
    assert is_made_up(tmp_path / "node") is expected


def test_a_store_keeps_it_and_a_real_trace_is_none(tmp_path: Path) -> None:
    traces = TraceFolder.written(tmp_path / "traces")
    ingest(traces.path, tmp_path / "real")
    assert not read_manifest(tmp_path / "real").made_up
    _truth(traces.path, json.dumps({"schema": SYNTH_SCHEMA}))
    ingest(traces.path, tmp_path / "drawn")
    assert open_store(tmp_path / "drawn").manifest.made_up
    traces.write("Node_9.csv", NODE_HEADER, ["0,n,0.5,0.5"])
    (traces.path / "truth" / "manifest.json").unlink()
    ingest(traces.path, tmp_path / "drawn")
    assert open_store(tmp_path / "drawn").manifest.made_up
