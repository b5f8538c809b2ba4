"""The measures and comparisons that may decide which policy is best.

Some 30 policies and 40 measures make thousands of comparisons. With an equal share of what may go
wrong for each, little would be left to the few that a decision hangs on. So nearly all of it goes
to two kinds of comparison: between policies that may be chosen, by measures that may answer and by
overload; and of each such policy with production, by all measures of the answer.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from tracekit.answer.fitness import LeftOut, left_out
from tracekit.answer.left_waiting import WAITING
from tracekit.arrays import BoolArray
from tracekit.replay.chance.material import too_near
from tracekit.replay.measures import OVERLOAD, RESOURCES, Measure, measures_in, of_use
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import BOUND, OBSERVED
from tracekit.replay.workload.facts_told import ASSUMED

#: What a policy must not do; it is asked first, and does not rank policies that do not do it.
CONDITIONS = (OVERLOAD, "pending")


def of_answer(found: Results) -> list[Measure]:
    """The measures that the answer speaks of, in the order of the registry."""
    return [one for one in found.measures.values() if one.group == "answer"]


def may_answer(found: Results) -> list[Measure]:
    """The measures that may decide which policy is best: one end is better, and they are of use."""
    return [
        one
        for one in of_answer(found)
        if one.better is not None and one.name not in CONDITIONS and not _of_requests(found, one)
    ]


def _of_requests(found: Results, measure: Measure) -> bool:
    """Whether requests stand for use: how they lie tells of nodes, but decides nothing."""
    resource = measure.name.split("_", maxsplit=1)[0]
    if not measure.per_resource or resource not in RESOURCES:
        return measure.per_resource
    known = found.manifest.get("workload", {}).get("quantities", {})
    # a node full of requests is a node well used, not one that is slow
    requests = known.get("requests") != ASSUMED and known.get("use of containers") == ASSUMED
    return requests and of_use(measure)


def may_be_chosen(found: Results) -> list[tuple[str, ...]]:
    """The policies that hold the load, those together that place alike; production aside."""
    out = {name for one in left_out(found) for name in one.names}
    return [names for names in found.groups if names[0] not in out and names != (OBSERVED,)]


def placing_all(found: Results, fit: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Those of some policies that leave nothing waiting."""
    return [names for names in fit if not found.waited(names[0])]


def broken_condition(
    found: Results, fit: Sequence[tuple[str, ...]], barred: Sequence[LeftOut]
) -> str:
    """The condition that sets those that may be chosen apart; empty if none is known.

    It is the first by which every other policy comes to more than all of these; else the first by
    which one does; else the first that is known.
    """
    known = [name for name in CONDITIONS if all(found.known(one[0], name) for one in fit)]
    others = [one.names[0] for one in barred if one.names != (OBSERVED,)]
    for enough in (all, any):
        for name in known if fit and others else ():
            most = max(found.of(one[0], name).mean() for one in fit)
            if enough(
                found.known(one, name) and found.of(one, name).mean() > most for one in others
            ):
                return name
    return known[0] if known else ""


def asked(found: Results, pairs: Sequence[tuple[str, str]]) -> BoolArray:
    """Which comparisons a decision asks for, shape (pairs times measures,): pair by pair."""
    fit = {names[0] for names in may_be_chosen(found)}
    ours = {OVERLOAD, *(one.name for one in may_answer(found))}
    wide = {one.name for one in of_answer(found)}
    usual = next((names[0] for names in found.groups if OBSERVED in names), "")
    rows = []
    for pair in pairs:
        among = wide if usual in pair else ours
        asks = set(pair) <= {*fit, usual}
        rows.append([asks and name in among for name in found.measures])
    return np.array(rows, dtype=np.bool_).reshape(-1)


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
