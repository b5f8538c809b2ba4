"""What the neighbours on a node press, by hand, and the same in whatever order the rows come."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from tracekit.base.arrays import IntArray

SQL = Path(__file__).parents[4] / "queries" / "interference" / "node_neighbours.sql"

COUNT, SERVICES, SAMPLES = 400, 40, 3
#: CPU of containers on one node, ten of each service, at each sample; one is beyond any machine.
CPU = np.random.default_rng(5).uniform(size=(COUNT, SAMPLES))
CPU[7, 1] = 2e7


def found(order: IntArray) -> list[tuple[Any, ...]]:
    """The rows, where samples are stored in this order."""
    key, sample = order // SAMPLES, order % SAMPLES
    with duckdb.connect(config={"threads": 1}) as con:
        rows = pl.DataFrame({"key": key, "sample": sample, "cpu": CPU[key, sample]})
        con.register("samples", rows.to_arrow())
        con.execute(
            "CREATE TABLE container_usage_keyed AS SELECT key AS container_key, 0 AS node_key,"
            f" key % {SERVICES} AS service_key, cpu AS cpu_fraction, sample AS time_ms FROM samples"
        )
        for name in ("container", "service"):
            con.execute(
                f"CREATE TABLE {name}_id AS SELECT range AS {name}_key,"
                f" format('{name}{{:03}}', range) AS {name} FROM range({COUNT})"
            )
        con.execute("CREATE TABLE node_id AS SELECT 0 AS node_key, 'node' AS node")
        return con.sql(SQL.read_text(encoding="utf-8")).fetchall()


def test_neighbours_are_the_others_of_the_node() -> None:
    rows = found(np.arange(COUNT * SAMPLES))
    assert len(rows) == COUNT
    means = [math.fsum(row) / SAMPLES for row in CPU.tolist()]
    profiles = [math.fsum(means[at::SERVICES]) * SERVICES / COUNT for at in range(SERVICES)]
    every = math.fsum(profiles) * COUNT / SERVICES
    for at, row in enumerate(rows):
        assert row[5] == pytest.approx(means[at], rel=1e-12)
        assert row[6] == COUNT - 1
        others = every - profiles[at % SERVICES]
        assert row[7] == pytest.approx(others / (COUNT - 1), rel=1e-12)
        assert row[8] == pytest.approx(others, rel=1e-12)


def test_no_order_of_rows_changes_a_sum() -> None:
    rng = np.random.default_rng(6)
    first = found(np.arange(COUNT * SAMPLES))
    for _ in range(5):
        assert found(rng.permutation(COUNT * SAMPLES)) == first
