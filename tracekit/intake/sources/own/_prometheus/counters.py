"""Scraped counters: their last samples, from which a later file goes on, and their rates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.files.places import place, scan_parquet
from tracekit.intake.sources._cluster import Batch, Opened
from tracekit.intake.sources.own._prometheus.series import Series

#: The table of what files end with.
TABLE = "counter_end"
SCHEMA = {
    "series": pl.UInt64,
    "first_ms": pl.Int64,
    "last_ms": pl.Int64,
    "value": pl.Float64,
    "line": pl.Int64,
}
#: What makes of overlapping counters one: the server, which knows all samples.
FETCH = (
    "let the server make one rate of them: tracekit fetch prometheus URL FOLDER; or give one dump"
    " of one replica"
)


@dataclass(slots=True)
class _Span:
    """From when until when a counter has samples, and the last value."""

    first_ms: int
    last_ms: int
    value: float
    line: int

    def widen(self, other: _Span) -> None:
        """The other's samples are of the counter, too."""
        if other.last_ms >= self.last_ms:
            self.last_ms, self.value = other.last_ms, other.value
        self.first_ms = min(self.first_ms, other.first_ms)


class Ends:
    """Gathers from when until when each counter of a file has samples."""

    def __init__(self) -> None:
        self._spans: dict[int, _Span] = {}
        self._replicas: dict[int, dict[str, _Span]] = {}

    def note(self, series: Series) -> bool:
        """Samples of a counter; whether they are the first of it."""
        counter, replica = series.number
        last = int(np.argmax(series.times_ms))
        times = int(series.times_ms.min()), int(series.times_ms[last])
        span = _Span(*times, float(series.values[last]), series.line)
        if replica:
            known = self._replicas.setdefault(counter, {})
            known.setdefault(replica, _Span(*times, 0.0, series.line)).widen(span)
        first = counter not in self._spans
        self._spans.setdefault(counter, span).widen(span)
        return first

    def check_replicas(self, file: str) -> None:
        """Raise TracekitError where replicas have samples of one counter at the same time."""
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
        """A row for each counter."""
        rows = [
            (number, one.first_ms, one.last_ms, one.value, one.line)
            for number, one in self._spans.items()
        ]
        return pl.DataFrame(rows, schema=SCHEMA, orient="row")

    def rows(self) -> Iterator[Batch]:
        """The rows of the table."""
        found = self.frame().sort("series")
        if found.height:
            names = [f"{number:016x}" for number in found["series"]]
            rows = found.select(
                pl.col("last_ms").alias("time_ms"),
                pl.Series("series", names),
                "value",
                "first_ms",
                "line",
            )
            yield Batch(table=TABLE, rows=rows)


class Before:
    """The last sample of each counter in the files before.

    Parameters
    ----------
    ends : DataFrame
        As ``Ends.frame`` has them.
    """

    def __init__(self, ends: pl.DataFrame) -> None:
        ordered = ends.sort("series", "last_ms")
        self._series = ordered["series"].to_numpy()
        self._last = ordered["last_ms"].to_numpy()
        self._value = ordered["value"].to_numpy()

    def of(self, series: Series) -> tuple[int, float] | None:
        """Time and value of the last sample before a series; None where none is known."""
        number = np.uint64(series.number.counter)
        first = int(np.searchsorted(self._series, number, "left"))
        end = int(np.searchsorted(self._series, number, "right"))
        at = first + int(np.searchsorted(self._last[first:end], series.times_ms.min(), "right")) - 1
        return (int(self._last[at]), float(self._value[at])) if at >= first else None


def stored_ends(opened: Opened) -> pl.DataFrame:
    """What the store had of counters before the ingest."""
    listed = opened.stored.get(TABLE)
    parts = [] if listed is None else json.loads(listed.read_text())
    if not parts:
        return pl.DataFrame(schema=SCHEMA)
    found = scan_parquet(*(place(where) for where, _ in parts)).collect()
    numbers = [int(text[:16], 16) for text in found["series"].cast(pl.String)]
    return found.select(
        pl.Series("series", numbers, pl.UInt64),
        pl.col("first_ms").cast(pl.Int64),
        pl.col("time_ms").cast(pl.Int64).alias("last_ms"),
        "value",
        pl.lit(0, pl.Int64).alias("line"),
    )


def check_apart(file: str, ends: pl.DataFrame, stored: pl.DataFrame) -> None:
    """Raise TracekitError where the store has samples of a file's counters between them."""
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
    """The samples with ``passed_ms``, the time since the one before, and counters as rates.

    A counter that fell began again at 0. Samples with ``seed`` are those before the first ones.

    Parameters
    ----------
    samples : DataFrame
        ``entity`` and ``series``; ``time_ms``, ``value``, NaN where a series ends; ``rate`` and
        ``seed``.
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
