"""What the neighbours on a node press, by hand, and the same in whatever order the rows come."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from tracekit.arrays import IntArray

SQL = Path(__file__).parents[3] / "queries" / "interference" / "node_neighbours.sql"

COUNT = 400
#: CPU of containers on one node, each of a service of its own.
CPU = np.random.default_rng(5).uniform(size=COUNT)


def found(order: IntArray) -> list[tuple[Any, ...]]:
    """The rows, where samples are stored in this order."""
    with duckdb.connect(config={"threads": 1}) as con:
        con.register("samples", pl.DataFrame({"key": order, "cpu": CPU[order]}).to_arrow())
        con.execute(
            "CREATE TABLE container_usage_keyed AS SELECT key AS container_key, 0 AS node_key,"
            " key AS service_key, cpu AS cpu_fraction, 0::BIGINT AS time_ms FROM samples"
        )
        for name in ("container", "service"):
            con.execute(
                f"CREATE TABLE {name}_id AS SELECT range AS {name}_key,"
                f" format('{name}{{:03}}', range) AS {name} FROM range({COUNT})"
            )
        con.execute("CREATE TABLE node_id AS SELECT 0 AS node_key, 'node' AS node")
        return con.sql(SQL.read_text(encoding="utf-8")).fetchall()


def test_neighbours_are_the_others_of_the_node() -> None:
    rows = found(np.arange(COUNT))
    assert len(rows) == COUNT
    for own, row in zip(CPU.tolist(), rows, strict=True):
        assert row[5] == pytest.approx(own, abs=1e-12)
        assert row[6] == COUNT - 1
        others = math.fsum(CPU) - own
        assert row[7] == pytest.approx(others / (COUNT - 1), abs=1e-11)
        assert row[8] == pytest.approx(others, abs=1e-9)


def test_no_order_of_rows_changes_a_sum() -> None:
    rng = np.random.default_rng(6)
    first = found(np.arange(COUNT))
    for _ in range(5):
        assert found(rng.permutation(COUNT)) == first
