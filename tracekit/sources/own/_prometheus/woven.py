"""Series of which one file has samples between those of another: together they are one series."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from tracekit.sources.own._prometheus.replicas import Number
from tracekit.sources.own._prometheus.series import Series
from tracekit.sources.silence import LEAST_MS

#: Where samples lie further apart than so many usual distances, some are lacking: another file may
#: have them.
HOLE_DISTANCES = 1.5
#: Samples that lie no further off are those of the other file, seen again.
_SAME_DISTANCES = 0.1
#: A series as one replica of Prometheus saw it.
SEEN = ("series", "replica")


def hole_ms() -> pl.Expr:
    """Beyond which distance samples are lacking between two of a file."""
    usual = pl.col("usual_ms")
    return pl.when(usual > 0).then(usual * HOLE_DISTANCES).otherwise(LEAST_MS)


def usual_of(usual: pl.Expr, found: pl.Expr) -> pl.Expr:
    """The usual distance; ``found`` between stretches only where they do not state it."""
    return pl.when(usual > 0).then(usual).otherwise(found.fill_null(0)).cast(pl.Int64)


def between(runs: pl.DataFrame, stored: int, step_ms: int) -> pl.DataFrame:
    """Series, and the files of a stretch that has samples between those of ``file_of``.

    Stretches whose samples lie equally far apart, and at the same times, are the same seen twice;
    but not where one goes on after a hole. The file with the number ``stored`` is what was taken in
    before, of which no step is known. Short files have the step ``step_ms``, if that is not 1.
    The samples are between ``from_ms`` and ``to_ms``.
    """
    pairs = _overlapping(runs.filter(pl.len().over(SEEN) > 1), stored)
    old = (pl.col("file") == stored) | (pl.col("file_of") == stored)
    hole = pl.col("known_ms").is_not_null() & (pl.col("first_ms_of") < pl.col("first_ms"))
    found = pairs.filter(hole | ~_same(old, max(step_ms, 2)))
    stated = pl.col("file") == stored
    since = pl.max_horizontal("known_ms", "first_ms_of")
    return found.select(
        *SEEN,
        file=pl.when(stated).then("file_of").otherwise("file"),
        file_of=pl.when(stated).then("file").otherwise("file_of"),
        from_ms=pl.when(stated & hole)
        .then(since)
        .otherwise(pl.when(stated).then("first_ms_of").otherwise("first_ms")),
        to_ms=pl.when(stated & hole)
        .then("first_ms")
        .otherwise(pl.min_horizontal("last_ms", "last_ms_of")),
    )


def _overlapping(runs: pl.DataFrame, stored: int) -> pl.DataFrame:
    """Stretches that begin within one of another file, with the one that goes on longest.

    ``known_ms`` is the sample before in the file itself.
    """
    last = pl.col("last_ms")
    longest = pl.when(last == last.cum_max().over(SEEN)).then(pl.col("at"))
    every = (
        runs.sort(*SEEN, "first_ms", "last_ms", "file")
        .with_row_index("at")
        .with_columns(
            known_ms=pl.when(pl.col("file") == stored)
            .then("known_ms")
            .otherwise(last.shift(1).over(*SEEN, "file")),
            of=longest.forward_fill().over(SEEN).shift(1).over(SEEN),
        )
    )
    others = every.select(
        pl.col("at").alias("of"),
        pl.col("file", "first_ms", "last_ms", "usual_ms").name.suffix("_of"),
    )
    return every.join(others, on="of", how="inner").filter(
        (pl.col("last_ms_of") > pl.col("first_ms")) & (pl.col("file") != pl.col("file_of"))
    )


def _same(old: pl.Expr, short_ms: int) -> pl.Expr:
    """Whether the samples of two stretches lie at the same times, as far as their steps tell."""
    usual, other = pl.col("usual_ms"), pl.col("usual_ms_of")
    most = pl.max_horizontal(usual, other)
    step = pl.when(old & (most == 0)).then(short_ms).otherwise(most)
    first, last = _off(step, "first_ms"), _off(step, "last_ms")
    # of what is stored the step is that of what is new: in a long stretch it may not be exact
    off = (
        pl.when(old).then(pl.min_horizontal(first, last)).otherwise(pl.max_horizontal(first, last))
    )
    alike = old | ((usual > 0) & (other > 0) & ((usual - other).abs() <= step * _SAME_DISTANCES))
    return ((step > 0) & alike & (off <= step * _SAME_DISTANCES)).fill_null(value=False)


def _off(step: pl.Expr, name: str) -> pl.Expr:
    """How far the other stretch is from where this one's times go on."""
    past = (pl.col(name) - pl.col(f"{name}_of")).abs() % step
    return pl.min_horizontal(past, step - past)


class Woven:
    """Holds samples of such series until all of them are there."""

    def __init__(self) -> None:
        self._pieces: dict[Number, list[Series]] = {}

    def hold(self, series: Series) -> None:
        """A piece of a series."""
        self._pieces.setdefault(series.number, []).append(series)

    def series(self) -> Iterator[Series]:
        """Each series with the samples of all files, of equal times one."""
        while self._pieces:
            pieces = self._pieces.pop(next(iter(self._pieces)))
            every = np.concatenate([one.times_ms for one in pieces])
            times, at = np.unique(every, return_index=True)
            yield replace(
                pieces[0],
                times_ms=times,
                values=np.concatenate([one.values for one in pieces])[at],
                ends_ms=np.unique(np.concatenate([one.ends_ms for one in pieces])),
            )
