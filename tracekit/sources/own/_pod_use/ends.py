"""What a file says of its counters for the files that are taken in after it."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from tracekit.sources._cluster import Batch, Broken
from tracekit.sources.own._pod_use.parts import Parts
from tracekit.sources.own._prometheus.metrics import Use
from tracekit.sources.own._prometheus.replicas import Number
from tracekit.sources.own._prometheus.runs import TABLE, Before, Runs
from tracekit.sources.own._prometheus.series import Series
from tracekit.sources.own._prometheus.woven import SEEN
from tracekit.sources.silence import LEAST_MS, USUAL_DISTANCES
from tracekit.sources.unreadable import TOO_LATE


class Ends:
    """Gathers how the counters of a file end; tells of those that come too late."""

    def __init__(self, parts: Parts) -> None:
        self._runs = Runs()
        self._before = parts.before(parts.file)
        self._too_late = parts.followed.too_late(parts.file)

    def note(self, series: Series, use: Use) -> Iterator[Broken]:
        """Samples of a series that counts, and a reject for each increase that is in no row."""
        self._runs.note(series)
        if not self._too_late:
            return
        for last, first in self._too_late.get(series.number, ()):
            if np.any(series.times_ms == last):
                labels = ", ".join(f"{name}={value}" for name, value in series.labels.items())
                yield Broken(
                    table=f"{use.fills}_amount",
                    line=series.line,
                    column="amount",
                    reason=f"{TOO_LATE}: the increase of {use.resource} from {last} to {first},"
                    " where what is stored goes on, is in no rate of its own",
                    text=f"{series.name} {labels}",
                )

    def rows(self) -> Iterator[Batch]:
        """The rows of the table."""
        found = _ended(self._runs, self._before)
        if found.height:
            yield Batch(table=TABLE, rows=found)


def _ended(runs: Runs, before: Before) -> pl.DataFrame:
    """Rows of the table: how the stretches of a file end."""
    own = pl.col("last_ms").shift(1).over(SEEN)
    heard = pl.col("first_ms") - own <= pl.max_horizontal(
        pl.lit(LEAST_MS), pl.col("usual_ms") * USUAL_DISTANCES
    )
    found = (
        runs.frame().join(before.times, on=[*SEEN, "first_ms"], how="left").sort(*SEEN, "first_ms")
    )
    found = found.with_columns(before_ms=pl.max_horizontal("before_ms", pl.when(heard).then(own)))
    found = found.sort(*SEEN, "last_ms")
    return found.select(
        pl.col("last_ms").alias("time_ms"),
        pl.Series("series", [Number(*one).text for one in found.select(SEEN).iter_rows()]),
        "value",
        "first_ms",
        "before_ms",
        "line",
    )
