"""The views of a store, and Arrow arrays of its quality tables."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from tests_support import TraceFolder

from tracekit.intake.ingest import ingest
from tracekit.store.broken_rows import arrow_array, arrow_strings
from tracekit.store.folder import open_store
from tracekit.store.query import Database
from tracekit.store.query.database import Views

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
    results = {
        (row["node"], row["time_ms"]): (row["step_ms"], row["cpu_change"], row["memory_change"])
        for row in rows
    }
    assert results == STEPS


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
        selected = database.frame(question)
        expected = database.frame(SORTED)
    assert selected.height == nodes * steps
    assert selected["step_ms"].null_count() == nodes
    assert_frame_equal(selected, expected, check_exact=True)


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


STATEMENTS = (
    "CREATE VIEW ones AS SELECT 1 AS one",
    "CREATE VIEW twos AS SELECT one + one AS two FROM ones",
    "CREATE VIEW fours AS SELECT two + two AS four FROM twos",
    "CREATE VIEW others AS SELECT 9 AS nine",
)
MADE = "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL"


def made(con: duckdb.DuckDBPyConnection) -> list[str]:
    return [str(name) for (name,) in con.execute(MADE).fetchall()]


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT 1", []),
        ("SELECT * FROM ones", ["ones"]),
        ('SELECT * FROM "Twos"', ["ones", "twos"]),
        ("WITH f AS (FROM fours) SELECT * FROM f", ["fours", "ones", "twos"]),
        ("SHOW TABLES", ["fours", "ones", "others", "twos"]),
        ("DESCRIBE", ["fours", "ones", "others", "twos"]),
        ("FROM information_schema.tables", ["fours", "ones", "others", "twos"]),
        (MADE, ["fours", "ones", "others", "twos"]),
    ],
)
def test_a_statement_finds_what_it_reads_and_no_more_is_made(sql: str, names: list[str]) -> None:
    with duckdb.connect() as con:
        Views(STATEMENTS).make_for(con, sql)
        con.execute(sql)
        assert made(con) == names


def test_all_are_made_once() -> None:
    with duckdb.connect() as con:
        views = Views(STATEMENTS)
        views.make_for(con, "FROM twos")
        assert views.make_all(con)
        assert not views.make_all(con)
        assert con.execute("FROM fours").fetchall() == [(4,)]


def test_threads_that_ask_at_once_all_find_their_views() -> None:
    with duckdb.connect() as con, ThreadPoolExecutor(8) as threads:
        statements = [STATEMENTS[0]]
        for at in range(30):
            before = f"v{at - 1}" if at else "ones"
            statements.append(f"CREATE VIEW v{at} AS SELECT * FROM {before}")
        views = Views(statements)

        def ask(at: int) -> int:
            with con.cursor() as cursor:
                views.make_for(cursor, f"FROM v{at}")
                return len(cursor.execute(f"FROM v{at}").fetchall())

        assert list(threads.map(ask, [*range(0, 30, 3), *range(29, -1, -2)])) == [1] * 25


VALUES = st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.booleans()), max_size=40)


@given(rows=VALUES)
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float64])
def test_values_and_gaps_are_where_they_were(
    kind: type[np.generic], rows: list[tuple[int, bool]]
) -> None:
    values = np.array([value for value, _ in rows], dtype=kind)
    absent = np.array([gone for _, gone in rows], dtype=np.bool_)
    array = arrow_array(values, absent)
    array.validate(full=True)
    assert array.type == pa.from_numpy_dtype(np.dtype(kind))
    assert array.to_pylist() == [None if gone else value for value, gone in rows]
    assert arrow_array(values).to_pylist() == values.tolist()


@pytest.mark.slow
@given(texts=st.lists(st.none() | st.text(max_size=20), max_size=40), start=st.integers(0, 40))
def test_texts_are_strings_wherever_they_are_cut_from(texts: list[str | None], start: int) -> None:
    array = arrow_strings(pl.Series(texts, dtype=pl.String).slice(start))
    array.validate(full=True)
    assert array.type == pa.string()
    assert array.to_pylist() == texts[start:]


@pytest.mark.parametrize("module", ["pandas", "pyarrow.compute"])
def test_ingest_loads_nothing_it_does_not_need(
    module: str, traces: TraceFolder, tmp_path: Path
) -> None:
    code = (
        "import sys; from tracekit.intake.ingest import ingest;"
        "ingest(*sys.argv[1:]); print(*sys.modules)"
    )
    command = [sys.executable, "-c", code, str(traces.path), str(tmp_path / "store")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert module not in done.stdout.split()
