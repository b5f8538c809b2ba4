"""Puts scraped samples on a grid, as a query of Prometheus would return them.

``base.constants`` states when a series is silent. A rate over silence is left out, and a scraped
sample holds until silence begins.
"""

from collections import Counter

import numpy as np
import polars as pl

from tracekit.base.constants import (
    SILENCE_DISTANCES,
    SILENCE_ENOUGH_DISTANCES,
    SILENCE_LEAST_MS,
)

_TOO_FEW = 2  # so few samples state no usual step


class Distances:
    """A count of the distances in time between successive samples, in whole seconds."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def note(self, times_ms: np.ndarray) -> None:
        """Count the distances of one series; one or two samples count nothing."""
        if len(times_ms) > _TOO_FEW:
            steps = np.rint(np.diff(times_ms) / 1000.0)
            steps = steps[steps >= 0]  # a series that goes backwards is a reject
            if not len(steps):
                return
            if steps.min() == steps.max():
                self._counts[int(steps[0])] += len(steps)
                return
            steps, counts = np.unique(steps, return_counts=True)
            self._counts.update(dict(zip(steps.astype(int).tolist(), counts.tolist(), strict=True)))

    def step_ms(self) -> int:
        """Return the most common distance in ms; 1 if no distance was counted.

        Distances that differ by up to a third count as one group, because a late sample makes one
        distance longer and the next one shorter. The result is the most common value of the largest
        group, or its mean if no value makes up half of it.
        """
        counted = sorted(self._counts.items())
        if not counted:
            return 1
        apart, counts = np.array(counted).T
        upto = np.cumsum([0, *counts])
        first = np.searchsorted(3 * apart, 2 * apart, "left")
        end = np.searchsorted(3 * apart, 4 * apart, "right")
        best = int(np.argmax(upto[end] - upto[first]))
        some = slice(first[best], end[best])
        most = int(np.argmax(counts[some]))
        usual = int(apart[some][most])
        if 2 * counts[some][most] < counts[some].sum():
            usual = round(float(np.average(apart[some], weights=counts[some])))
        return max(1, usual) * 1000


def without_silence(samples: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Leave out rates over a silence, i.e. a long time without samples, and add columns.

    Parameters
    ----------
    samples : DataFrame
        ``entity``, ``part`` and ``sign`` name the series. ``passed_ms`` is the time since the
        sample before, 0 without one. ``rate`` is whether the value is a mean over that time.
    steps : DataFrame
        By ``entity``: ``step_ms``, the step of the grid, and further columns.

    Returns
    -------
    DataFrame
        With the columns of ``steps``, ``usual_ms`` (the usual distance of samples) and
        ``silence_ms`` (a longer distance is a silence).
    """
    passed = pl.col("passed_ms")
    # null without a sample before: neither counted nor a part of the median
    distance = pl.when(passed > 0).then(passed)
    usual = (
        pl.when(distance.count().over(*PARTS) >= SILENCE_ENOUGH_DISTANCES)
        .then(distance.median().over(*PARTS))
        .otherwise(pl.col("step_ms"))
    )
    silence = pl.max_horizontal(pl.lit(SILENCE_LEAST_MS), pl.col("usual_ms") * SILENCE_DISTANCES)
    return (
        samples.join(steps, on="entity", how="left", maintain_order="left")
        .with_columns(usual_ms=usual)
        .with_columns(silence_ms=silence.cast(pl.Int64))
        .filter(~pl.col("rate") | (passed <= pl.col("silence_ms")))
    )


def on_grid(samples: pl.DataFrame) -> pl.DataFrame:
    """Return the value of each part at each step at which its entity has a new sample.

    A sample is valid until the next one, at most until silence begins. A rate is also valid for the
    time before, of which it is the mean.
    """
    step, at = pl.col("step_ms"), pl.col("at")
    before = at.shift(1).over(*PARTS) + step
    covered = (pl.col("passed_ms") + step // 2) // step - 1
    since = pl.max_horizontal(before, at - pl.max_horizontal(covered, 0) * step)
    # without a stated step a sample holds only at its own time
    stated = step > 1
    last = cells(samples).with_columns(
        since=pl.when(stated & pl.col("rate")).then(since).otherwise(at)
    )
    following = pl.col("since").shift(-1).over(*PARTS) - step
    silent = (pl.col("time_ms") + pl.col("silence_ms")) // step * step
    held = (
        pl.when(stated & ~pl.col("ended")).then(pl.min_horizontal(following, silent)).otherwise(at)
    )
    values = (
        last.with_columns(until=pl.max_horizontal(at, held))
        .filter(pl.col("value").is_not_nan())
        .with_columns(time_ms=pl.int_ranges("since", pl.col("until") + step, step))
        .select(*PARTS, "line", "at", "time_ms", "value")
        .explode("time_ms")
    )
    new = values.filter(at == pl.col("time_ms")).select("entity", "time_ms").unique()
    return values.join(new, on=["entity", "time_ms"], how="semi", maintain_order="left").drop("at")


def entities_without_common_times(samples: pl.DataFrame) -> pl.Series:
    """Return the entities whose parts cannot be summed yet, as their samples differ in time.

    Parts can be summed if all times are a multiple of one step apart, as in the answer to a query.
    They also can if each part shares a time with another part, and has every time of the entity
    between its own first and last.
    """
    time, usual = pl.col("time_ms"), pl.col("usual_ms")
    real = samples.filter(pl.col("value").is_not_nan())
    stepped = (usual == usual.first()) & ((time - time.first()) % usual.first() == 0)
    entities = real.group_by("entity").agg(
        several=pl.col("part").min() < pl.col("part").max(), queried=stepped.all()
    )
    doubtful = entities.filter(pl.col("several") & ~pl.col("queried"))["entity"]
    some = real.filter(pl.col("entity").is_in(doubtful.implode())).select(
        "entity", "part", "time_ms", rank=time.rank("dense").over("entity")
    )
    shared = pl.col("part").n_unique().over("entity", "time_ms") > 1
    rank = pl.col("rank")
    parts = (
        some.with_columns(shared=shared)
        .group_by("entity", "part")
        .agg(common=pl.col("shared").any() & (rank.n_unique() > rank.max() - rank.min()))
    )
    return parts.filter(~pl.col("common"))["entity"].unique().sort()


def summed(samples: pl.DataFrame) -> pl.DataFrame:
    """Return the sum over the parts of each entity at each time; no sum where a part is NaN.

    Of several samples of a part at one time the last counts.
    """
    last = samples.group_by("entity", "part", "sign", "time_ms").agg(
        pl.col("value").last(), pl.col("line").min()
    )
    sums = last.group_by("entity", "time_ms").agg(
        pl.col("value").sum(),
        pl.col("line").min(),
        pl.col("sign").n_unique().alias("signs"),
    )
    return sums.filter(pl.col("value").is_not_nan())


# A step is named by the time of its end. The samples of a series usually lie at one place of the
# step. Then each sample has a step of its own, even where one sample is earlier or later.

#: The columns that name a part of an entity.
PARTS = ("entity", "part", "sign")
_STEP = pl.col("step_ms")


def cells(samples: pl.DataFrame) -> pl.DataFrame:
    """Return one row per part and step of the grid that has a sample, in order of parts and time.

    Parameters
    ----------
    samples : DataFrame
        PARTS; ``time_ms`` and ``value`` (NaN: the series ends here); ``rate``, whether the value is
        a mean over ``passed_ms``; ``largest``, whether the largest of several values counts;
        ``step_ms``, ``silence_ms`` and ``line``.

    Returns
    -------
    DataFrame
        A row for each step, with the columns of its last sample. ``at`` is the end of the step, and
        ``ended`` is whether the series ends in the step. Of several values in a step, ``value`` is
        the largest, or the mean weighted by ``passed_ms``.
    """
    placed = _placed(samples).sort(*PARTS, "time_ms", "passed_ms", maintain_order=True)
    last = placed.group_by(*PARTS, "at", maintain_order=True).agg(
        pl.col("value", "time_ms", "passed_ms", "rate", "step_ms", "silence_ms").last(),
        pl.col("line").min(),
        pl.len().alias("count"),
    )
    several = last.filter(pl.col("count") > 1).select(*PARTS, "at")
    last = last.with_columns(ended=pl.col("value").is_nan()).drop("count")
    return last.update(_merged(placed, several), on=[*PARTS, "at"]) if several.height else last


def _merged(placed: pl.DataFrame, several: pl.DataFrame) -> pl.DataFrame:
    """The value and ``passed_ms`` of each step with several samples."""
    since = (pl.col("time_ms") - pl.col("time_ms").shift(1).over(*PARTS)).fill_null(
        pl.col("passed_ms")
    )
    # the time that two replicas both cover counts once
    some = (
        placed.filter(pl.col("value").is_not_nan())
        .with_columns(passed_ms=pl.min_horizontal("passed_ms", since))
        .join(several, on=[*PARTS, "at"], how="semi", maintain_order="left")
    )
    weight = pl.when("rate").then("passed_ms").otherwise(1)
    return some.group_by(*PARTS, "at").agg(
        pl.when(pl.col("largest").first())
        .then(pl.col("value").max())
        .otherwise((pl.col("value") * weight).sum() / weight.sum())
        .alias("value"),
        pl.col("passed_ms").sum(),
    )


def _placed(samples: pl.DataFrame) -> pl.DataFrame:
    """The samples with ``at``, the end of the step of each."""
    time = pl.col("time_ms")
    at_end = -(-time // _STEP) * _STEP
    offsets = samples.filter(pl.col("value").is_not_nan()).select(
        *PARTS, "step_ms", off=time % _STEP
    )
    off = pl.col("off")
    lies = offsets.group_by(PARTS).agg(off.min().alias("first"), off.max().alias("last"))
    ragged = lies.filter(pl.col("first") < pl.col("last")).select(*PARTS)
    if not ragged.height:
        return samples.with_columns(at=at_end)
    usual = _usual(offsets.join(ragged, on=PARTS, how="semi"))
    own = (time - pl.col("begins")) // _STEP * _STEP + pl.col("ends")
    return (
        samples.join(usual, on=PARTS, how="left", maintain_order="left")
        .with_columns(at=pl.coalesce(own, at_end))
        .drop("begins", "ends")
    )


def _usual(offsets: pl.DataFrame) -> pl.DataFrame:
    """The begin of the round of each part, and the end of the step of its usual sample.

    Both are offsets within a step, in ms. A round has the length of a step, and begins after the
    longest gap between samples.
    """
    off = pl.col("off")
    before = off.diff()
    begins = (
        pl.when(before.max() > off.first() + _STEP.first() - off.last())
        .then(off.get(before.arg_max()))
        .otherwise(off.first())
    )
    late = (off - pl.col("begins")) % _STEP
    return (
        offsets.sort(*PARTS, "off")
        .group_by(PARTS, maintain_order=True)
        .agg(off, _STEP.first(), begins.alias("begins"))
        .explode("off")
        .group_by(*PARTS, "begins", "step_ms", maintain_order=True)
        .agg(late.quantile(0.5, "lower").cast(pl.Int64).alias("late"))
        .select(
            *PARTS,
            "begins",
            ends=-(-(pl.col("begins") + pl.col("late")) // _STEP) * _STEP,
        )
    )
