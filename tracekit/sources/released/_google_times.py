"""Times of Google's cluster data: microseconds, with two values that mean before and after."""

from __future__ import annotations

import polars as pl

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
