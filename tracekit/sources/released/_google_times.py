"""Times of Google's cluster data: microseconds, with two values that mean before and after."""

from __future__ import annotations

import polars as pl

#: What a user should know of these times.
BEFORE = "the trace begins at 600 s: what stands at time 0 was there before and is put at 600 s"
AFTER = "events at 2^63-1 lie behind the trace and say nothing about it: they are left out"
SAMPLED = "a sample stands at the beginning of its 300 s"

#: The traces begin here; what is told of time 0 was so before.
TRACE_START_MS = 600_000
#: A time at or above this one means: after the trace (2^63 - 1, also where it was rounded).
_AFTER_US = float(1 << 62)


def in_trace(rows: pl.DataFrame, column: str = "time") -> pl.DataFrame:
    """The rows that do not lie behind the end of the trace."""
    return rows.filter(pl.col(column) < _AFTER_US)


def time_ms(column: str) -> pl.Expr:
    """``time_ms`` of a column of microseconds; what was before the trace stands at its start."""
    ms = (pl.col(column) / 1000).floor().cast(pl.Int64)
    return pl.when(pl.col(column) == 0).then(TRACE_START_MS).otherwise(ms).alias("time_ms")
