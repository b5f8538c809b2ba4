"""The view of steps: the quick form must say what sorting says, whatever the parts."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

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
SORTED = """
SELECT
    node_key,
    time_ms,
    time_ms - lag(time_ms) OVER by_time AS step_ms,
    cpu_fraction - lag(cpu_fraction) OVER by_time AS cpu_change,
    memory_fraction - lag(memory_fraction) OVER by_time AS memory_change
FROM node_usage_keyed
WINDOW by_time AS (PARTITION BY node_key ORDER BY time_ms)
ORDER BY node_key, time_ms
"""


def _store(folder: Path, parts: int) -> Path:
    source = folder / "source"
    source.mkdir()
    for part in range(parts):
        lines = [f"{n},{t},{i},{c},{m}\n" for n, (t, i, c, m) in enumerate(ROWS[part::parts])]
        (source / f"Node_{part}.csv").write_text(HEADER + "".join(lines))
    ingest(source, folder / "store")
    return folder / "store"


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_each_sample_has_its_step_however_many_parts_there_are(tmp_path: Path, parts: int) -> None:
    with Database(open_store(_store(tmp_path, parts))) as database:
        rows = database.rows("SELECT * FROM node_usage_steps JOIN node_id USING (node_key)")
    found = {
        (row["node"], row["time_ms"]): (row["step_ms"], row["cpu_change"], row["memory_change"])
        for row in rows
    }
    assert found == STEPS


def test_many_row_groups_are_handed_on_in_the_order_of_the_file(tmp_path: Path) -> None:
    source = tmp_path / "Node_0.csv"
    nodes, steps = 300, 1_000
    rows = pl.select(at=pl.int_range(nodes * steps)).select(
        "at",
        timestamp=pl.col("at") % steps * 30_000,
        nodeid=pl.format("node{}", pl.col("at") // steps),
        node_cpu_usage=(pl.col("at") * 7_919 % 1_000) / 1_000,
        node_memory_usage=(pl.col("at") * 104_729 % 1_000) / 1_000,
    )
    rows.rename({"at": ""}).write_csv(source)
    ingest(source, tmp_path / "store")
    store = open_store(tmp_path / "store")
    question = "SELECT * FROM node_usage_steps ORDER BY node_key, time_ms"
    with Database(store) as database:
        found = database.frame(question)
        expected = database.frame(SORTED)
    assert found.height == nodes * steps
    assert found["step_ms"].null_count() == nodes
    assert_frame_equal(found, expected, check_exact=True)


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
