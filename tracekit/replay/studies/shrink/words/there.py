"""How full nodes are where so few stay: overload, else the highest use, beside production."""

from collections.abc import Mapping
from typing import Any

from tracekit.replay.answer import overload
from tracekit.replay.answer.overload import OVERLOAD
from tracekit.replay.measures import RESOURCES
from tracekit.replay.studies.shrink.search.broken_limit import number
from tracekit.replay.studies.shrink.words.cautions import nearly_full
from tracekit.replay.workload.facts_told import ASSUMED
from tracekit.words import counted, listed


def use_there(row: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """Sentences after a space; empty where no use is recorded: nobody is hot for what is requested.

    Parameters
    ----------
    row : mapping
        A row of the study's ``policies``.
    about : mapping
        What was studied.
    """
    used = about["workload"].get("quantities", {}).get("use of containers") != ASSUMED
    usual = (about["observed"] or {}).get("measures", {})
    over = _overload(row, about, usual)
    if not used:
        return over
    full = nearly_full(row.get("memory_max_fraction"), usual.get("memory_max_fraction"))
    return f"{over or _peaks(row, usual)}{full}"


def _peaks(row: Mapping[str, Any], usual: Mapping[str, Any]) -> str:
    """The highest use of a node; empty where it is not known."""
    said = []
    for resource, words in RESOURCES.items():
        column = f"{resource}_max_fraction"
        there, before = row.get(column), usual.get(column)
        if there is not None:
            beside = "" if before is None else f" ({number(column, before)} in production)"
            said.append(f"{number(column, there)} of its {words}{beside}")
    return f" The fullest node then uses {listed(said)}." if said else ""


def _overload(row: Mapping[str, Any], about: Mapping[str, Any], usual: Mapping[str, Any]) -> str:
    """How far nodes are overloaded, a sentence; empty where that is next to never.

    It is told also where production overloads as many: that is why so few are enough.
    """
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
    return (
        f" Nodes are then overloaded in {counted(round(there), 'node-step')}, up to"
        f" {number(column, peaks[highest])} {RESOURCES[highest]}{production}."
    )
