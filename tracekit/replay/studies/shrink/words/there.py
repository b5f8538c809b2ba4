"""How full nodes are where so few stay: the highest use, beside production."""

from collections.abc import Mapping
from typing import Any

from tracekit.replay.measures import RESOURCES
from tracekit.replay.studies.shrink.search.broken_limit import number
from tracekit.replay.studies.shrink.words.cautions import nearly_full
from tracekit.replay.studies.shrink.words.overloaded import overloaded
from tracekit.replay.workload.facts_told import ASSUMED
from tracekit.words import listed


def use_there(row: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """Sentences after a space; empty where no use is recorded: nobody is hot for what is requested.

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
