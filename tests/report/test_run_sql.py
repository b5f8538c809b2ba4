"""The SQL beneath figures of means over orders of arrival gives the means and intervals drawn."""

from __future__ import annotations

import contextlib
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from report_memory_support import memory_decides

from tracekit.replay.runs.run import BOUND
from tracekit.report.blocks import Source, sources
from tracekit.report.data import Data
from tracekit.report.figures import get_figure

#: By figure the columns that its SQL has, too.
FIGURES = {
    "policy_ranks": {"value": "mean", "low": "low", "high": "high", "orders": "orders"},
    "replay_tradeoff": {
        name: name
        for name in (
            "nodes", "nodes_low", "nodes_high", "overload_share", "overload_low", "overload_high",
        )
    },
    "waiting_tradeoff": {
        name: name
        for name in (
            "nodes", "nodes_low", "nodes_high", "waiting", "waiting_low", "waiting_high",
        )
    },
}  # fmt: skip


def ran(folder: Path, *, orders: int) -> Data:
    """A run in a folder: one policy met one order alone, and there is a bound."""
    made, rng = memory_decides({}), np.random.Generator(np.random.PCG64(7))
    repeats = made.replay("repeats").filter(pl.col("repeat") < orders)
    values = rng.random((repeats.height, 3))
    repeats = repeats.with_columns(
        nodes_used_mean=pl.Series(5 + 3 * values[:, 0]),
        cpu_stranded_share=pl.Series(0.9 + 0.1 * values[:, 1]),
        overloaded_node_steps=pl.Series(np.floor(2 * values[:, 2])),
    )
    first = repeats.filter(repeat=0).drop("repeat")
    once = first.head(1).with_columns(policy=pl.lit("once"), pending=pl.lit(0.0))
    bound = first.head(1).with_columns(policy=pl.lit(BOUND))
    frames = {"summary": pl.concat([first, once, bound])}
    frames |= {"repeats": repeats} if orders > 1 else {}
    for name, frame in frames.items():
        frame.write_parquet(folder / f"{name}.parquet")
    return Data(run=made.run, run_frames=frames)


def rows(source: Source, folder: Path) -> pl.DataFrame:
    with duckdb.connect() as database, contextlib.chdir(folder):
        found = database.execute(source.sql)
        names = [one[0] for one in found.description or ()]
        return pl.DataFrame(found.fetchall(), schema=names, orient="row")


@pytest.mark.parametrize("orders", [1, 4, 6])
@pytest.mark.parametrize("name", FIGURES)
def test_it_gives_the_numbers_of_the_figure(name: str, orders: int, tmp_path: Path) -> None:
    data, figure, columns = ran(tmp_path, orders=orders), get_figure(name), FIGURES[name]
    drawn = figure.prepare(data)
    assert drawn.height > 2
    (source,) = sources(figure, data)
    found = rows(source, tmp_path)
    assert BOUND not in found["policy"]
    for row in drawn.iter_rows(named=True):
        told = found.row(by_predicate=pl.col("policy") == row["policy"], named=True)
        for column, theirs in columns.items():
            assert told[theirs] == pytest.approx(row[column], abs=1e-9), (row["policy"], column)
    assert ("95 %" in source.sql) == (orders >= 6)
