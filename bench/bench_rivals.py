"""Whether DuckDB's own reader came to what tracekit's store holds: else a comparison is void."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

RIVALS = Path(__file__).parent / "rivals"
_ROWS = """
SELECT count(*), sum(CAST(hash(
    file_row_number, time_ms, service_key, container_key, node_key, cpu_fraction, memory_fraction
) AS HUGEINT)) FROM read_parquet({}, file_row_number = true)
"""
_IDS = "SELECT count(*), sum(CAST(hash(key, id) AS HUGEINT)) FROM read_parquet({})"


class DifferentRowsError(Exception):
    """The rival wrote other rows than tracekit, or in another order."""


def duckdb_ingest(archive: Path, folder: Path) -> list[str]:
    """A shell line that has DuckDB do the job in a folder made anew."""
    script = RIVALS / "duckdb_ingest.py"
    return ["sh", "-c", f"rm -rf {folder} && exec {sys.executable} {script} {archive} {folder}"]


def check_same(store: Path, folder: Path) -> int:
    """Compare every row, key and id, and their order; returns the number of rows.

    Raises DifferentRowsError when anything differs.
    """
    tables = {"rows": (_ROWS, "tables/container_usage")} | {
        entity: (_IDS, f"dimensions/{entity}") for entity in ("service", "container", "node")
    }
    rows = 0
    with duckdb.connect() as con:
        for name, (query, ours) in tables.items():
            mine = con.execute(query.format(f"'{store / ours}/*.parquet'")).fetchone()
            theirs = con.execute(query.format(f"'{folder / name}.parquet'")).fetchone()
            if mine != theirs or mine is None:
                raise DifferentRowsError(f"{name}: tracekit {mine}, DuckDB {theirs}")
            rows = mine[0] if name == "rows" else rows
    return rows
