"""Makes rates of scraped counters, and records their last samples for a later file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.files.places import place, scan_parquet
from tracekit.intake.sources._source import Batch, Opened
from tracekit.intake.sources.own._prometheus.series import Series

#: The table of the last samples of counters.
TABLE = "counter_end"
SCHEMA = {
    "series": pl.UInt64,
    "first_ms": pl.Int64,
    "last_ms": pl.Int64,
    "value": pl.Float64,
    "line": pl.Int64,
}
#: The hint for overlapping counters: only the server has all samples.
FETCH = (
    "let the server make one rate of them: tracekit fetch prometheus URL FOLDER; or give one dump"
    " of one replica"
)


@dataclass(slots=True)
class _Span:
    """The first and the last time of a counter's samples, and the last value."""

    first_ms: int
    last_ms: int
    value: float
    line: int

    def widen(self, other: _Span) -> None:
        """Extend the span by another span of the same counter."""
        if other.last_ms >= self.last_ms:
            self.last_ms, self.value = other.last_ms, other.value
        self.first_ms = min(self.first_ms, other.first_ms)


class Ends:
    """The first and last time and the last value of each counter in a file; fill it by ``note``."""

    def __init__(self) -> None:
        self._spans: dict[int, _Span] = {}
        self._replicas: dict[int, dict[str, _Span]] = {}

    def note(self, series: Series) -> bool:
        """Record the samples of a counter; return whether no samples of it were recorded before."""
        counter, replica = series.number
        last = int(np.argmax(series.times_ms))
        times = int(series.times_ms.min()), int(series.times_ms[last])
        span = _Span(*times, float(series.values[last]), series.line)
        if replica:
            replicas = self._replicas.setdefault(counter, {})
            replicas.setdefault(replica, _Span(*times, 0.0, series.line)).widen(span)
        first = counter not in self._spans
        self._spans.setdefault(counter, span).widen(span)
        return first

    def check_replicas(self, file: str) -> None:
        """Raise TracekitError if the samples of two replicas of a counter overlap in time."""
        for of in self._replicas.values():
            spans = sorted(of.items(), key=lambda one: one[1].first_ms)
            for (name, one), (other, later) in pairwise(spans):
                if later.first_ms < one.last_ms:
                    raise TracekitError(
                        f"{file}: the replicas {name} and {other} of Prometheus both have samples"
                        f" of one counter at {later.first_ms} (line {later.line})",
                        hint=FETCH,
                    )

    def frame(self) -> pl.DataFrame:
        """Return a row for each counter, in the columns of ``SCHEMA``."""
        rows = [
            (number, one.first_ms, one.last_ms, one.value, one.line)
            for number, one in self._spans.items()
        ]
        return pl.DataFrame(rows, schema=SCHEMA, orient="row")

    def rows(self) -> Iterator[Batch]:
        """Yield the rows of the table ``counter_end``."""
        ends = self.frame().sort("series")
        if ends.height:
            names = [f"{number:016x}" for number in ends["series"]]
            rows = ends.select(
                pl.col("last_ms").alias("time_ms"),
                pl.Series("series", names),
                "value",
                "first_ms",
                "line",
            )
            yield Batch(table=TABLE, rows=rows)


class Before:
    """A lookup of the last sample of a counter in earlier files, so that a rate can begin there.

    Parameters
    ----------
    ends : DataFrame
        Rows in the columns of ``SCHEMA``.
    """

    def __init__(self, ends: pl.DataFrame) -> None:
        ordered = ends.sort("series", "last_ms")
        self._series = ordered["series"].to_numpy()
        self._last = ordered["last_ms"].to_numpy()
        self._value = ordered["value"].to_numpy()

    def of(self, series: Series) -> tuple[int, float] | None:
        """Return ms and value of the last sample before a series; None without one."""
        number = np.uint64(series.number.counter)
        first = int(np.searchsorted(self._series, number, "left"))
        end = int(np.searchsorted(self._series, number, "right"))
        at = first + int(np.searchsorted(self._last[first:end], series.times_ms.min(), "right")) - 1
        return (int(self._last[at]), float(self._value[at])) if at >= first else None


def stored_ends(opened: Opened) -> pl.DataFrame:
    """Return the last samples of counters that the store already has, in columns of ``SCHEMA``."""
    listed = opened.stored.get(TABLE)
    parts = [] if listed is None else json.loads(listed.read_text())
    if not parts:
        return pl.DataFrame(schema=SCHEMA)
    ends = scan_parquet(*(place(where) for where, _ in parts)).collect()
    numbers = [int(text[:16], 16) for text in ends["series"].cast(pl.String)]
    return ends.select(
        pl.Series("series", numbers, pl.UInt64),
        pl.col("first_ms").cast(pl.Int64),
        pl.col("time_ms").cast(pl.Int64).alias("last_ms"),
        "value",
        pl.lit(0, pl.Int64).alias("line"),
    )


def check_apart(file: str, ends: pl.DataFrame, stored: pl.DataFrame) -> None:
    """Raise TracekitError if samples of a counter overlap in time with those in the store."""
    both = ends.join(stored, on="series", suffix="_stored")
    inside = both.filter(
        (pl.col("first_ms_stored") < pl.col("last_ms"))
        & (pl.col("first_ms") < pl.col("last_ms_stored"))
    )
    if inside.height:
        at = inside.sort("line")["first_ms"][0]
        raise TracekitError(
            f"{file}: {inside.height:,} of {ends.height:,} counters have samples at times that the"
            f" store has, too, such as {at}",
            hint=f"a longer version of a stored file: tracekit ingest --replace FILE STORE; else"
            f" {FETCH}",
        )


def rated(samples: pl.DataFrame) -> pl.DataFrame:
    """Replace the values of counters by rates per second, and add ``passed_ms``.

    A counter whose value fell was reset to 0 before.

    Parameters
    ----------
    samples : DataFrame
        ``entity`` and ``series``; ``time_ms`` and ``value`` (NaN: the series ends here); ``rate``,
        whether the series is a counter; ``seed``, whether the sample is of an earlier file.

    Returns
    -------
    DataFrame
        The samples without seeds. ``passed_ms`` is the time since the sample before, 0 without one.
    """
    of = ("entity", "series")
    time, value = pl.col("time_ms"), pl.col("value")
    numbered = samples.with_row_index("at")
    more = value - value.shift(1).over(of)
    passed = (time - time.shift(1).over(of)).fill_null(0)
    live = (
        numbered.filter(value.is_not_nan())
        .sort(*of, "time_ms", maintain_order=True)
        .with_columns(passed_ms=passed, more=pl.when(more < 0).then(value).otherwise(more))
        .filter(~pl.col("seed") & (~pl.col("rate") | (pl.col("passed_ms") > 0)))
        .with_columns(
            value=pl.when("rate")
            .then(pl.col("more") / (pl.col("passed_ms") / 1000.0))
            .otherwise("value")
        )
        .drop("more")
    )
    ended = numbered.filter(value.is_nan()).with_columns(passed_ms=pl.lit(0, pl.Int64))
    return pl.concat([live, ended]).sort("at").drop("at", "seed", "series")
