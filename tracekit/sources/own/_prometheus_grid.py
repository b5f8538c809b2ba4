"""When a series counts as silent, and what a query finds of scraped samples on a grid.

``sources.silence`` says when. No rate is made across silence, and a scraped sample holds no longer
than until silence begins.
"""

from collections import Counter

import numpy as np
import polars as pl

from tracekit.sources.silence import ENOUGH_DISTANCES, LEAST_MS, USUAL_DISTANCES

_SERIES = ("entity", "part", "sign")
_TOO_FEW = 2  # so few samples state no usual step


class Distances:
    """How far samples lie apart, in whole seconds, and how often."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def note(self, times_ms: np.ndarray) -> None:
        """Samples of one series."""
        if len(times_ms) > _TOO_FEW:
            steps = np.rint(np.diff(times_ms) / 1000.0)
            if steps.min() == steps.max():
                self._counts[int(steps[0])] += len(steps)
                return
            steps, counts = np.unique(steps, return_counts=True)
            self._counts.update(dict(zip(steps.astype(int).tolist(), counts.tolist(), strict=True)))

    def step_ms(self, otherwise: int = 1) -> int:
        """The most common distance; ``otherwise`` where no series states any."""
        known = self._counts
        return max(1, min(known, key=lambda one: (-known[one], one))) * 1000 if known else otherwise


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
        pl.when(distance.count().over(*_SERIES) >= ENOUGH_DISTANCES)
        .then(distance.median().over(*_SERIES))
        .otherwise(pl.col("step_ms"))
    )
    silence = pl.max_horizontal(pl.lit(LEAST_MS), usual * USUAL_DISTANCES).cast(pl.Int64)
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
