"""How full nodes are where so few stay, and how far they are overloaded, there and on all."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tracekit.answer import overload
from tracekit.answer.fewest.words.broken import number
from tracekit.answer.fewest.words.cautions import nearly_full
from tracekit.answer.fewest.words.nodes import added
from tracekit.replay.measures import OVERLOAD, RESOURCES
from tracekit.replay.workload.facts_told import ASSUMED
from tracekit.study import Study
from tracekit.words import counted, listed


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

    False where a limit was given, as that says what is enough.
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


def use_there(row: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """Sentences after a space; empty where no use is recorded, as requests make no node hot.

    Overload is told with the count itself, by ``overloaded``.

    Parameters
    ----------
    row : mapping
        A row of the study's ``policies``.
    about : mapping
        What was studied.
    """
    used = about["workload"].get("quantities", {}).get("use of containers") != ASSUMED
    usual = (about["observed"] or {}).get("measures", {})
    if not used:
        return ""
    full = nearly_full(row.get("memory_max_fraction"), usual.get("memory_max_fraction"))
    orders = about.get("repeats", 1)
    return f"{'' if overloaded(row, about) else _peaks(row, usual, orders)}{full}"


def _peaks(row: Mapping[str, Any], usual: Mapping[str, Any], orders: int) -> str:
    """The highest use of a node, of several orders in the worst; empty where it is not known."""
    said = []
    for resource, words in RESOURCES.items():
        column = f"{resource}_max_fraction"
        there, before = row.get(column), usual.get(column)
        if there is not None:
            beside = "" if before is None else f" ({number(column, before)} in production)"
            said.append(f"{number(column, there)} of its {words}{beside}")
    where = "In the worst order the" if orders > 1 else "The"
    return f" {where} fullest node then uses {listed(said)}." if said else ""
