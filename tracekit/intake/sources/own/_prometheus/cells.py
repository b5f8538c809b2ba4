"""In which step of a grid each scraped sample stands, and what a step has of several samples.

A step of the grid is known by the time of its end. The samples of a series that usually lie at one
place of the step stand in a step of their own each, however much earlier or later one of them is.
"""

import polars as pl

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
        Of the last sample of a step; ``at`` is the end of the step, ``ended`` is whether the series
        ends in it. Of several values the mean by the time that each is of, or the largest one.
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
