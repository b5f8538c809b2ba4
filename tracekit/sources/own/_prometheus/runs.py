"""Stretches of samples of scraped counters, and the sample before each, in whichever file it is.

The first increase of a file counts since the last sample of the files beside it, or of those that
were taken in before. A stretch that begins while another file has samples of its series needs none
before: that file has the increase.
"""

import json
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import polars as pl

from tracekit.files.places import place, scan_parquet
from tracekit.sources._cluster import Opened
from tracekit.sources.own._prometheus.before import followed, step_ms
from tracekit.sources.own._prometheus.replicas import COUNTER_DIGITS, Number, number_in
from tracekit.sources.own._prometheus.series import Series
from tracekit.sources.own._prometheus.woven import HOLE_DISTANCES, SEEN, between, hole_ms, usual_of
from tracekit.sources.silence import ENOUGH_DISTANCES, LEAST_MS
from tracekit.units import MS_PER_DAY

#: The table of what files that were taken in before end with, and the column of its series.
TABLE = "counter_end"
_SCHEMA = {
    "series": pl.UInt64,
    "replica": pl.UInt32,
    "file": pl.Int32,
    "first_ms": pl.Int64,
    "last_ms": pl.Int64,
    "value": pl.Float64,
    "usual_ms": pl.Int64,
    "line": pl.Int64,
}
#: The number of the file of what was taken in before.
STORED = -1
#: So many stretches wait before those that follow each other are made one.
_WAITING = 100_000
#: What was stored counts where its time lies no further off; silence is shorter.
_NEAR_MS = MS_PER_DAY
#: The number of what is woven of several files.
WOVEN = -2
#: The number of what lies between two replicas of one file: the sample before is with it.
SEAM = -3

#: A part of the table that is stored: its place, and the last time in it.
Part = tuple[str, int]


def _middle(apart_ms: np.ndarray) -> int:
    """The median in whole milliseconds; of a few numbers quicker than that of numpy."""
    ordered = np.sort(apart_ms)
    return int(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) // 2


def stretches(series: Series) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int, int]]]:
    """Times in order, and values; first and last of each stretch, and the usual distance in ms."""
    order = np.argsort(series.times_ms, kind="stable")
    times, values = series.times_ms[order], series.values[order]
    apart = np.diff(times)
    usual = _middle(apart) if len(apart) >= ENOUGH_DISTANCES else 0
    cuts = (np.flatnonzero(apart > (usual * HOLE_DISTANCES or LEAST_MS)) + 1).tolist()
    ends = zip([0, *cuts], [*cuts, len(times)], strict=True)
    return times, values, [(first, end - 1, usual) for first, end in ends]


class Runs:
    """Gathers stretches, a few numbers for each of them."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, int, int, int, float, int, int]] = []
        self._kept = pl.DataFrame(schema=_SCHEMA)

    def note(self, series: Series, file: int = 0) -> None:
        """Samples of a series in a file, which is known by a number."""
        times, values, runs = stretches(series)
        for first, last, usual in runs:
            self._waiting.append(
                (*series.number, file, int(times[first]), int(times[last]), float(values[last]),
                 usual, series.line)
            )  # fmt: skip
        # where all are of other series, the next time is when there are twice as many
        if len(self._waiting) > max(_WAITING, self._kept.height):
            self._merge()

    def frame(self) -> pl.DataFrame:
        """All stretches, by series and time."""
        self._merge()
        return self._kept

    def _merge(self) -> None:
        some = pl.DataFrame(self._waiting, schema=_SCHEMA, orient="row")
        self._kept = _joined(pl.concat([self._kept, some]))
        self._waiting = []


def _joined(runs: pl.DataFrame) -> pl.DataFrame:
    """The stretches, those of one file between which no sample lacks as one."""
    own = (*SEEN, "file")
    apart = pl.col("first_ms") - pl.col("last_ms").cum_max().shift(1).over(own)
    some = pl.when(pl.col("apart_ms") > 0).then(pl.col("apart_ms"))
    usual = pl.when(some.count().over(own) >= ENOUGH_DISTANCES).then(some.median().over(own))
    return (
        runs.sort(*own, "first_ms", "last_ms")
        .with_columns(apart_ms=apart)
        .with_columns(usual_ms=usual_of(pl.col("usual_ms").max().over(own), usual))
        .with_columns(begins=pl.col("apart_ms").is_null() | (pl.col("apart_ms") > hole_ms()))
        .group_by(pl.col("begins").cum_sum().alias("run"), maintain_order=True)
        .agg(
            pl.col(*own, "first_ms").first(),
            pl.col("last_ms").max(),
            pl.col("value").sort_by("last_ms").last(),
            pl.col("usual_ms").first(),
            pl.col("line").min(),
        )
        .select(*_SCHEMA)
    )


class Followed:
    """Stretches of some files and of the store, each with the sample before it.

    Parameters
    ----------
    runs : DataFrame
        Those of the files.
    stored : tuple of Part
        Where those of the files of before are.

    Attributes
    ----------
    step_ms : int
        How far samples usually lie apart; 1 where that is not known.
    known : bool
        Whether there are any stretches of files.
    woven : frozenset of int
        Series of which one file has samples between those of another.
    """

    def __init__(self, runs: pl.DataFrame, stored: tuple[Part, ...]) -> None:
        every = runs.with_columns(known_ms=pl.lit(None, pl.Int64))
        if stored and runs.height:
            every = pl.concat([every, _stored(stored, runs)])
        self.known = bool(every.height)
        self._runs = followed(every, STORED)
        self.step_ms = step_ms(self._runs)
        self._between = between(every, STORED, self.step_ms)
        among = self._between.filter(pl.col("file_of") != STORED)
        self.woven = frozenset(among["series"].to_list())

    def of(self, file: int) -> "Before":
        """What is before the stretches of a file; of all files for what is woven of them."""
        if file == WOVEN:
            woven = pl.Series(sorted(self.woven), dtype=pl.UInt64)
            mine = pl.col("series").is_in(woven.implode()) & (pl.col("file") != STORED)
            return Before(self._runs.filter(mine))
        return Before(self._runs.filter(file=file))

    def precedes(self, file: int) -> set[int]:
        """The files whose first increase counts since a sample of this one."""
        found = self._runs.filter(
            (pl.col("before_file") == file) & (pl.col("file") != file) & (pl.col("file") != STORED)
        )
        return set(found["file"].unique().to_list())

    def too_late(self, file: int) -> dict[Number, list[tuple[int, int]]]:
        """Samples of this file, by series, that would be before one that is stored, and its time.

        The increase between them is in no row: it was not known when the later one was taken in.
        So are those from the first to the last sample between stored ones.
        """
        found = self._runs.filter(
            (pl.col("before_file") == file)
            & (pl.col("file") == STORED)
            & (pl.col("known_ms").is_null() | (pl.col("known_ms") < pl.col("before_ms")))
        )
        inside = self._between.filter((pl.col("file") == file) & (pl.col("file_of") == STORED))
        missing: dict[Number, list[tuple[int, int]]] = {}
        for series, replica, before, first in (
            *found.select("series", "before_replica", "before_ms", "first_ms").iter_rows(),
            *inside.select(*SEEN, "from_ms", "to_ms").iter_rows(),
        ):
            missing.setdefault(Number(series, replica), []).append((before, first))
        return missing


class Before:
    """The sample before each stretch of one file."""

    def __init__(self, runs: pl.DataFrame) -> None:
        known = runs.drop_nulls("before_ms").sort(*SEEN, "first_ms")
        self._series = known["series"].to_numpy()
        self._columns = known.select("replica", "first_ms", "before_ms", "before_value")
        self._arrays = tuple(one.to_numpy() for one in self._columns)

    def of(self, number: int, replica: int = 0) -> Iterator[tuple[int, int, float]]:
        """Of a series: when a stretch begins; time and value of the sample before."""
        wanted = np.uint64(number)
        first = int(np.searchsorted(self._series, wanted, "left"))
        end = int(np.searchsorted(self._series, wanted, "right"))
        if end > first:
            some = (one[first:end].tolist() for one in self._arrays)
            for seen_by, *of in zip(*some, strict=True):
                if seen_by == replica:
                    yield tuple(of)

    @cached_property
    def times(self) -> pl.DataFrame:
        """The time of the sample before, by series, replica and ``first_ms``."""
        return self._columns.select("replica", "first_ms", "before_ms").with_columns(
            pl.Series("series", self._series, pl.UInt64)
        )


def parts_of(opened: Opened) -> tuple[Part, ...]:
    """The parts of the table that were there before the ingest."""
    listed = opened.stored.get(TABLE)
    if listed is None:
        return ()
    return tuple((str(where), int(last)) for where, last in json.loads(listed.read_text()))


def _stored(parts: tuple[Part, ...], runs: pl.DataFrame) -> pl.DataFrame:
    """What is stored of the series of these stretches, about their time."""
    since = runs["first_ms"].min() - _NEAR_MS  # type: ignore[operator]
    until = runs["last_ms"].max() + _NEAR_MS  # type: ignore[operator]
    near = [place(where) for where, last in parts if last >= since]
    empty = pl.DataFrame(schema={**_SCHEMA, "known_ms": pl.Int64})
    if not near:
        return empty
    wanted = [Number(one, 0).text for one in runs["series"].unique()]
    found = (
        scan_parquet(*near)
        .filter((pl.col("time_ms") >= since) & (pl.col("first_ms") <= until))
        .filter(pl.col("series").cast(pl.String).str.head(COUNTER_DIGITS).is_in(wanted))
        .collect()
    )
    numbers = [number_in(one) for one in found["series"].cast(pl.String)]
    return found.select(
        pl.Series("series", [one.counter for one in numbers], pl.UInt64),
        pl.Series("replica", [one.replica for one in numbers], pl.UInt32),
        pl.lit(STORED, pl.Int32).alias("file"),
        pl.col("first_ms").cast(pl.Int64),
        pl.col("time_ms").cast(pl.Int64).alias("last_ms"),
        "value",
        pl.lit(0, pl.Int64).alias("usual_ms"),
        pl.lit(0, pl.Int64).alias("line"),
        pl.col("before_ms").cast(pl.Int64).alias("known_ms"),
    )
