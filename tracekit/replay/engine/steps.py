"""The frame of a replay's sampling steps, and what it comes to over all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl
from numpy.typing import NDArray

from tracekit.replay.measures import RESOURCES, each_resource, measure_files
from tracekit.replay.view.sampled import Sampled

_COUNTED: dict[str, type[pl.DataType]] = {
    "time_ms": pl.Int64,
    "settled": pl.Boolean,
    "placed": pl.Int64,
    "pending": pl.Int64,
}


def step_schema() -> dict[str, type[pl.DataType]]:
    """Columns of steps.parquet after ``policy``; None marks what a lower bound cannot say."""
    steps = [
        one.step
        for name, found in measure_files()
        for one in each_resource(name, found)
        if one.step is not None
    ]
    return {**_COUNTED, **{s.column: pl.Int64 if s.whole else pl.Float64 for s in steps}}


def measure(
    sampled: Sampled, *, time_ms: int, settled: bool, pending: int, moves: int = 0
) -> dict[str, Any]:
    """One row of steps.parquet, of the one step that was sampled."""
    about = {"time_ms": time_ms, "settled": settled, "pending": pending, "moves": moves}
    values = {name: column[0].item() for name, column in measure_steps(sampled).items()}
    row = {**values, **about}
    return {name: None if math.isnan(row[name]) else row[name] for name in step_schema()}


def measure_steps(
    sampled: Sampled, known: Mapping[str, NDArray[Any]] | None = None
) -> dict[str, NDArray[Any]]:
    """Columns of steps.parquet that the use of nodes gives, shape (steps,); NaN: not defined.

    Parameters
    ----------
    known : mapping
        What somebody has computed faster, by the column as the file of the measure names it;
        of each resource, shape (steps, 2).
    """
    known = known or {}
    columns = {"placed": known["placed"] if "placed" in known else sampled.containers.sum(axis=-1)}
    for _, one in measure_files():
        step = one.step
        if step is None or step.at is None:
            continue
        values = known[step.column] if step.column in known else step.at(sampled)
        if one.per_resource:
            columns |= {f"{r}_{step.column}": values[:, at] for at, r in enumerate(RESOURCES)}
        else:
            columns[step.column] = values
    return columns


def summed() -> dict[str, pl.Expr]:
    """The measures that are taken over the steps, in the order of summary.parquet."""
    return {
        one.name: getattr(pl.col(one.step.column), one.over_steps)()
        for name, found in measure_files()
        for one in each_resource(name, found)
        if one.step is not None
    }


def summarize(steps: pl.DataFrame) -> dict[str, Any]:
    """The measures over the settled steps; over all of them when none is settled."""
    settled = steps.filter(pl.col("settled"))
    counted = settled if settled.height else steps
    row = counted.select(taken.alias(name) for name, taken in summed().items())
    return row.row(0, named=True)
