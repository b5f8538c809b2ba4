"""Thinning: so many points as a page can carry, and no reader would miss the rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

#: More dots than this only make the file larger.
MOST_POINTS = 2000
#: All lines of a figure together; more of them have fewer points each.
MOST_LINE_POINTS = 4000
_MOST_PER_LINE, _FEWEST_PER_LINE = 720, 60


def evenly(frame: pl.DataFrame, most: int = MOST_POINTS) -> pl.DataFrame:
    """Every so-many-th row, the first and the last always among them."""
    if frame.height <= most:
        return frame
    kept = np.linspace(0, frame.height - 1, most).round().astype(np.int64)
    return frame[kept]


def lines(frame: pl.DataFrame, group: str, values: Sequence[str]) -> pl.DataFrame:
    """Lines of a figure, one per group: of each stretch of rows the lowest and the highest.

    So a peak stays however short it is. Groups stand in the order they first appear, rows within
    one in their own; a value that is not there is neither lowest nor highest.
    """
    parts = frame.partition_by(group, maintain_order=True)
    if not parts:
        return frame
    most = MOST_LINE_POINTS // len(parts)
    most = max(min(_MOST_PER_LINE, most), _FEWEST_PER_LINE)
    return pl.concat([_extremes(part, values, most) for part in parts])


def _extremes(part: pl.DataFrame, values: Sequence[str], most: int) -> pl.DataFrame:
    if part.height <= most:
        return part
    stretches = most // (2 * len(values))
    at = pl.int_range(pl.len(), dtype=pl.Int64)
    numbered = part.with_columns(at.alias("_at"), (at * stretches // pl.len()).alias("_stretch"))
    ends = [pl.col("_at").get(pl.col(v).arg_min()).alias(f"_low_{v}") for v in values]
    ends += [pl.col("_at").get(pl.col(v).arg_max()).alias(f"_high_{v}") for v in values]
    found = numbered.group_by("_stretch", maintain_order=True).agg(ends).drop("_stretch")
    kept = np.unique(found.unpivot()["value"].drop_nulls().to_numpy())
    return part[np.unique([0, *kept, part.height - 1])]


def highest(frame: pl.DataFrame, group: str, value: str, most: int) -> pl.DataFrame:
    """Of each group the row with the highest value in each of ``most`` stretches of its rows."""
    at = pl.int_range(pl.len()).over(group) * most // pl.len().over(group)
    known = frame.filter(pl.col(value).is_not_null()).with_columns(at.alias("_stretch"))
    top = pl.col(value) == pl.col(value).max().over(group, "_stretch")
    kept = known.filter(top).unique([group, "_stretch"], keep="first", maintain_order=True)
    return kept.drop("_stretch")


def drawn_of(frame: pl.DataFrame, group: str) -> str:
    """How many of the samples of each group are drawn, as a sentence; empty when all are."""
    samples = frame.group_by(group).agg(pl.col("samples").first())["samples"].sum()
    if samples <= frame.height:
        return ""
    return (
        f"{frame.height:,} of {samples:,} samples are drawn: the lowest and the highest of each"
        " stretch of time."
    )
