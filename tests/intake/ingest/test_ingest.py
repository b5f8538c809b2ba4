"""What goes into a store: rows and keys, rejects, and a manifest that accounts for every row."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from store_support import ingest_one
from tests_support import NODE_HEADER, TraceFolder, hex_id, node_lines

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
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
