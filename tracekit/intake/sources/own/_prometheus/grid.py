"""When a series counts as silent, and what a query finds of scraped samples on a grid.

``sources.silence`` says when. No rate is made across silence, and a scraped sample holds no longer
than until silence begins.
"""

from collections import Counter

import numpy as np
import polars as pl

from tracekit.intake.sources.silence import ENOUGH_DISTANCES, LEAST_MS, USUAL_DISTANCES

_TOO_FEW = 2  # so few samples state no usual step


class Distances:
    """How far samples lie apart, in whole seconds, and how often."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def note(self, times_ms: np.ndarray) -> None:
        """Samples of one series."""
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
        """The most common distance; 1 where no series states any.

        Distances that differ by no more than a third are one: that of most of them, or their mean
        where jitter lets none be so common. One late sample makes one distance
        longer and the next one shorter.
        """
        known = sorted(self._counts.items())
        if not known:
            return 1
        apart, counts = np.array(known).T
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


def heard(samples: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """The samples, less rates over a time in which the series was silent.

    They get the columns ``usual_ms`` and ``silence_ms``, and those of ``steps``.

    Parameters
    ----------
    samples : DataFrame
        ``entity``, ``part`` and ``sign`` say which series; ``passed_ms`` is the time since the
        sample before, 0 where there is none; ``rate`` is whether the value is a mean over it.
    steps : DataFrame
        ``step_ms``, the step of the grid, and what else is known, by ``entity``.
    """
    passed = pl.col("passed_ms")
    # null where there is none before: neither counted nor a part of the median
    distance = pl.when(passed > 0).then(passed)
    usual = (
        pl.when(distance.count().over(*PARTS) >= ENOUGH_DISTANCES)
        .then(distance.median().over(*PARTS))
        .otherwise(pl.col("step_ms"))
    )
    silence = pl.max_horizontal(pl.lit(LEAST_MS), pl.col("usual_ms") * USUAL_DISTANCES)
    return (
        samples.join(steps, on="entity", how="left", maintain_order="left")
        .with_columns(usual_ms=usual)
        .with_columns(silence_ms=silence.cast(pl.Int64))
        .filter(~pl.col("rate") | (passed <= pl.col("silence_ms")))
    )


def on_grid(samples: pl.DataFrame) -> pl.DataFrame:
    """What a query finds of each part, NaN left out, where its entity has any new sample.

    A rate holds over the time that it is of, and after it, as any sample does, until the next one.
    """
    step, at = pl.col("step_ms"), pl.col("at")
    before = at.shift(1).over(*PARTS) + step
    covered = (pl.col("passed_ms") + step // 2) // step - 1
    since = pl.max_horizontal(before, at - pl.max_horizontal(covered, 0) * step)
    # a step that nobody states holds nothing beyond its own time
    stated = step > 1
    last = cells(samples).with_columns(
        since=pl.when(stated & pl.col("rate")).then(since).otherwise(at)
    )
    following = pl.col("since").shift(-1).over(*PARTS) - step
    silent = (pl.col("time_ms") + pl.col("silence_ms")) // step * step
    held = (
        pl.when(stated & ~pl.col("ended")).then(pl.min_horizontal(following, silent)).otherwise(at)
    )
    found = (
        last.with_columns(until=pl.max_horizontal(at, held))
        .filter(pl.col("value").is_not_nan())
        .with_columns(time_ms=pl.int_ranges("since", pl.col("until") + step, step))
        .select(*PARTS, "line", "at", "time_ms", "value")
        .explode("time_ms")
    )
    new = found.filter(at == pl.col("time_ms")).select("entity", "time_ms").unique()
    return found.join(new, on=["entity", "time_ms"], how="semi", maintain_order="left").drop("at")


def apart(samples: pl.DataFrame) -> pl.Series:
    """The entities whose parts do not have their times in common.

    In common are the times of a query, which lie one step apart, whichever parts have an answer at
    each; and those that all parts have which are there.
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
    """The last sample of each part at each time, and the parts' sum.

    There is no sum where a part is NaN: the others are less than the whole.
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


# In which step of a grid each scraped sample stands, and what a step has of several samples. A step
# is known by the time of its end. The samples of a series that usually lie at one place of the step
# stand in a step of their own each, however much earlier or later one of them is.

#: By what a part of an entity is known.
PARTS = ("entity", "part", "sign")
_STEP = pl.col("step_ms")


def cells(samples: pl.DataFrame) -> pl.DataFrame:
    """What each part has in each step where it has any sample, in order of parts and time.

    Parameters
    ----------
    samples : DataFrame
        PARTS; ``time_ms`` and ``value``, NaN where the series ends; ``rate`` is whether the value
        is of the ``passed_ms`` before; ``largest`` is whether the largest of several values counts;
        ``step_ms`` and ``silence_ms``; ``line``.

    Returns
    -------
    DataFrame
        A row for each step with a sample, with the columns of the last sample in it; ``at`` is the
        end of the step, ``ended`` is whether the series ends in it. Where several values are in
        one step, ``value`` is their mean, weighed by ``passed_ms``, or the largest one.
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
    """Value and time passed of the steps with several samples."""
    since = (pl.col("time_ms") - pl.col("time_ms").shift(1).over(*PARTS)).fill_null(
        pl.col("passed_ms")
    )
    # two replicas of Prometheus see the same time: it counts once
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
    """The samples with ``at``; those that are all at one place of a step are at the end of it."""
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
    """Where the round of each part ``begins``, and where the step of its usual sample ``ends``.

    A round begins after the longest time of the step at which there never is a sample.
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
