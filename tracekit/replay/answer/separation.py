"""Which measures tell policies apart on a workload, whatever chance adds.

Some are the same under every placement: what the load itself decides, or the distance of CPU and
memory where one of them is the fuller on every node. Such a measure heads no table and no page.
Whether a difference is beyond chance is asked of ``tracekit.replay.answer.standings``.
"""

import polars as pl

from tracekit.replay.answer.left_waiting import WAITING
from tracekit.replay.chance.material import too_near
from tracekit.replay.measures import Measure, measures_in
from tracekit.replay.runs.run import BOUND, OBSERVED


def separates(summary: pl.DataFrame, measure: Measure) -> bool:
    """Whether policies differ by a measure, by 1 % and by as many points as ``material`` asks for.

    Policies that left more containers waiting than they may carried less load and do not count, but
    for how many they left. Production and the bound do not count either.

    Parameters
    ----------
    summary : DataFrame
        As ``summary.parquet``.
    """
    if measure.name not in summary.columns:
        return False
    rows = _rivals(summary, waiting=measure.name in WAITING)
    values = rows[measure.name].cast(pl.Float64).drop_nulls().to_list()
    if len(values) < 2:
        return False
    return max(values) > min(values) and not too_near(measure, values)


def separating(summary: pl.DataFrame) -> list[Measure]:
    """The measures that tell policies apart: those that may answer first, then in order."""
    found = [one for one in measures_in(summary.columns).values() if separates(summary, one)]
    return sorted(found, key=lambda one: one.group != "answer")


def _rivals(summary: pl.DataFrame, *, waiting: bool) -> pl.DataFrame:
    rows = summary.filter(~pl.col("policy").is_in([BOUND, OBSERVED]))
    columns = [c for c in WAITING if c in rows.columns]
    if waiting or not columns:
        return rows
    return rows.filter(pl.all_horizontal(pl.col(column) == 0 for column in columns))
