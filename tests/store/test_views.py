"""Views of base tables: steps of nodes, whatever the parts, and columns that a part lacks."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
from tracekit.store.query import Database

HEADER = ",timestamp,nodeid,node_cpu_usage,node_memory_usage\n"
ROWS = [
    (60_000, "b", 0.5, 0.25),
    (0, "a", 0.25, 0.5),
    (30_000, "a", 0.5, 0.75),
    (0, "b", 0.125, 0.5),
    # a gap, and a node with one sample
    (120_000, "a", 0.75, 0.25),
    (0, "c", 0.5, 0.5),
]
STEPS = {
    ("a", 0): (None, None, None),
    ("a", 30_000): (30_000, 0.25, 0.25),
    ("a", 120_000): (90_000, 0.25, -0.5),
    ("b", 0): (None, None, None),
    ("b", 60_000): (60_000, 0.375, -0.25),
    ("c", 0): (None, None, None),
}


def _store(folder: Path, parts: int) -> Path:
    source = folder / "source"
    source.mkdir()
    for part in range(parts):
        lines = [f"{n},{t},{i},{c},{m}\n" for n, (t, i, c, m) in enumerate(ROWS[part::parts])]
        (source / f"Node_{part}.csv").write_text(HEADER + "".join(lines))
    ingest(source, folder / "store")
    return folder / "store"


@pytest.mark.parametrize("parts", [1, 3])
def test_each_sample_has_its_step_however_many_parts_there_are(tmp_path: Path, parts: int) -> None:
    with Database(open_store(_store(tmp_path, parts))) as database:
        rows = database.rows("SELECT * FROM node_usage_steps JOIN node_id USING (node_key)")
    found = {
        (row["node"], row["time_ms"]): (row["step_ms"], row["cpu_change"], row["memory_change"])
        for row in rows
    }
    assert found == STEPS


def test_a_column_that_a_part_is_too_old_to_have_is_null(tmp_path: Path) -> None:
    source = tmp_path / "containers.csv"
    source.write_text(
        "container,arrival_ms,cpu_milli,memory_bytes\na,0,1000,1073741824\nb,5,1000,1073741824\n"
    )
    ingest(source, tmp_path / "store")
    store = open_store(tmp_path / "store")
    [part] = store.table_files("container")
    pl.read_parquet(part).drop("eviction", "created_ms").write_parquet(part)
    with Database(store) as database:
        rows = database.rows("SELECT container, eviction, created_ms FROM container ORDER BY 1")
    assert [tuple(row.values()) for row in rows] == [("a", None, None), ("b", None, None)]
