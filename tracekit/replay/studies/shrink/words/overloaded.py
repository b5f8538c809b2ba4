"""How far nodes are overloaded where so few stay, and where not even all of them carry the load."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tracekit.replay.answer import overload
from tracekit.replay.answer.overload import OVERLOAD
from tracekit.replay.measures import RESOURCES
from tracekit.replay.studies.shrink.search.broken_limit import number
from tracekit.replay.studies.shrink.words.added import added
from tracekit.study import Study
from tracekit.words import counted


def overloaded(row: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """How far nodes are overloaded, a clause; empty where that is next to never.

    It is told also where production overloads as many: that is why so few are enough.

    Parameters
    ----------
    row : mapping
        A row of the study's ``policies``.
    about : mapping
        What was studied.
    """
    usual = (about["observed"] or {}).get("measures", {})
    there, before = row.get(OVERLOAD), usual.get(OVERLOAD)
    little = overload.SLIGHT * overload.node_steps(about["workload"])
    if there is None or there <= (little if before is None else min(little, before)):
        return ""
    peaks = {name: row.get(f"{name}_max_fraction") for name in RESOURCES}
    highest = max((name for name in peaks if peaks[name]), key=lambda name: peaks[name] or 0.0)
    column = f"{highest}_max_fraction"
    production = (
        ""
        if before is None
        else f" (in production {before:,.0f}, {number(column, usual.get(column))})"
    )
    worst = " of the worst order" if about.get("repeats", 1) > 1 else ""
    return (
        f"overloaded in {counted(round(there), 'node-step')}{worst}, up to"
        f" {number(column, peaks[highest])} {RESOURCES[highest]}{production}"
    )


def with_all(study: Study, row: Mapping[str, Any]) -> bool:
    """Whether nodes are overloaded on all of them, too, more than now and then on average.

    Only where no limit was given: whoever gives one says what is enough.
    """
    about = study.about
    if about["limits_given"] or row["nodes"] != row["of"] or added(row):
        return False
    little = overload.SLIGHT * overload.node_steps(about["workload"])
    sizes = study.frames.get("sizes")
    known = sizes is not None and {OVERLOAD, "repeat"} <= set(sizes.columns)
    if sizes is None or not known:
        return (row.get(OVERLOAD) or 0) > little
    tried = sizes.filter(policy=row["policy"], nodes=row["nodes"]).unique("repeat", keep="last")
    return bool(tried.select(pl.col(OVERLOAD).cast(pl.Float64).mean() > little).item())
