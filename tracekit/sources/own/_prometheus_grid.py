"""When a series counts as silent, and what a query finds of scraped samples on a grid.

A series is silent when five minutes pass without a sample, as in Prometheus; but samples that
usually lie further apart are not silent between each other. No rate is made across silence, and a
scraped sample holds no longer than until silence begins.
"""

import polars as pl

_LEAST_MS = 300_000
#: One sample may be missing: beyond this there are two.
_USUAL_DISTANCES = 2.5
#: A series with fewer distances states none that is usual: the grid's step counts.
_ENOUGH = 3
_SERIES = ("entity", "part", "sign")


def heard(samples: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """The samples without rates across silence, with ``step_ms`` and ``silence_ms``.

    Parameters
    ----------
    samples : DataFrame
        ``entity``, ``part`` and ``sign`` say which series; ``passed_ms`` is the time since the
        sample before, 0 where there is none; ``rate`` is whether the value is of that time.
    steps : DataFrame
        ``step_ms``, the step of the grid, by ``entity``.
    """
    passed = pl.col("passed_ms")
    # null where there is none before: neither counted nor a part of the median
    distance = pl.when(passed > 0).then(passed)
    usual = (
        pl.when(distance.count().over(*_SERIES) >= _ENOUGH)
        .then(distance.median().over(*_SERIES))
        .otherwise(pl.col("step_ms"))
    )
    silence = pl.max_horizontal(pl.lit(_LEAST_MS), usual * _USUAL_DISTANCES).cast(pl.Int64)
    return (
        samples.join(steps, on="entity", how="left", maintain_order="left")
        .with_columns(silence_ms=silence)
        .filter(~pl.col("rate") | (passed <= pl.col("silence_ms")))
    )


def on_grid(samples: pl.DataFrame) -> pl.DataFrame:
    """What a query finds of each part, NaN left out, where its entity has any new sample."""
    step, at = pl.col("step_ms"), pl.col("at")
    last = (
        samples.with_columns(at=-(-pl.col("time_ms") // step) * step)
        .sort(*_SERIES, "time_ms", maintain_order=True)
        .group_by(*_SERIES, "at", maintain_order=True)
        .agg(pl.col("value", "time_ms", "step_ms", "silence_ms").last(), pl.col("line").min())
    )
    following = at.shift(-1).over(*_SERIES) - step
    silent = (pl.col("time_ms") + pl.col("silence_ms")) // step * step
    # a step that nobody states holds nothing beyond its own time
    held = pl.when(step > 1).then(pl.min_horizontal(following, silent)).otherwise(at)
    found = (
        last.with_columns(until=pl.max_horizontal(at, held))
        .filter(pl.col("value").is_not_nan())
        .with_columns(time_ms=pl.int_ranges(at, pl.col("until") + step, step))
        .select(*_SERIES, "line", "at", "time_ms", "value")
        .explode("time_ms")
    )
    new = found.filter(at == pl.col("time_ms")).select("entity", "time_ms").unique()
    return found.join(new, on=["entity", "time_ms"], how="semi", maintain_order="left")
