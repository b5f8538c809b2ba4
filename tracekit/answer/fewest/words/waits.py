"""What a study of the fewest nodes says of containers that find no node with all nodes either."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tracekit.answer.fewest.facts import OVER_CAPACITY
from tracekit.answer.fewest.frames import BREAKS_WITH_ALL, WAITS_WITH_ALL
from tracekit.answer.left_waiting import OF_WHAT, WAITING, placed_all
from tracekit.study import Study
from tracekit.words import count, few, listed

Row = Mapping[str, Any]


def but_for(row: Row, about: Mapping[str, Any]) -> str:
    """That so many nodes are enough for all but some, a clause; empty where all have a node."""
    waits = row.get(WAITS_WITH_ALL)
    if not waits:
        return ""
    return f", but for {_up_to(about)}{waits:,} of {_every(about)},"


def either(row: Row, about: Mapping[str, Any]) -> str:
    """That some find no node with all nodes either, a sentence; empty where all do."""
    waits = row.get(WAITS_WITH_ALL)
    if waits is None:
        return ""
    find = "finds" if waits == 1 else "find"
    some = f"{_up_to(about)}{count(waits, 'container')} {find} no node"
    told = f"{some} under it either" if waits else "some containers wait under it too"
    return f" With all nodes {told}, where production placed all; on fewer nodes no more do."


def by_choice_of_nodes(row: Row, about: Mapping[str, Any]) -> str:
    """Why a policy lets some wait that production placed, a sentence; empty where none do."""
    observed = about["observed"]
    ours = row.get(BREAKS_WITH_ALL) in WAITING and about["scale"] == 1
    if not (observed and ours and placed_all(observed["measures"])):
        return ""
    said = _by_choice(observed["nodes"], about["workload"].get(OVER_CAPACITY, 0))
    return f" {said[0].upper()}{said[1:]}."


def _by_choice(nodes: int, over: int) -> str:
    """Why a policy lets containers wait that production placed on so many nodes, a clause."""
    placed = f"production placed all containers on {count(nodes, 'node')}"
    if over:
        had = f"{count(over, 'container')} had too little room on {'its' if over == 1 else 'their'}"
        return f"{placed}, but its placement does not respect requests: {had} node"
    return f"{placed}: it is the policy's choice of nodes, not their number"


def no_policy(row: Row) -> str:
    """The beginning of a sentence on the bound: the policies that it is of."""
    return f"No policy{that_leaves(row)}"


def that_leaves(row: Row) -> str:
    """The condition of the bound, a clause; empty where it is of placing all."""
    waits = row.get(WAITS_WITH_ALL)
    return f" that leaves at most {count(waits, 'container')} without a node" if waits else ""


def who(study: Study) -> list[str]:
    """How many containers find no node on all nodes either, in each order, a sentence each."""
    return list(
        filter(None, (_by_order(study, row) for row in study.frames["policies"].to_dicts()))
    )


def _by_order(study: Study, row: Row) -> str:
    """How many find no node in each order of arrival, a sentence; empty for one order, or none."""
    if not row.get(WAITS_WITH_ALL) or study.about["repeats"] == 1:
        return ""
    held = pl.col("nodes") == row["nodes"]
    sizes = study.frames["sizes"].filter(held, policy=row["policy"]).sort("repeat")
    left = [f"{some:,.0f}" for some in sizes[WAITING[0]].to_list()]
    return (
        f"On {count(row['nodes'], 'node')} {row['policy']} leaves {listed(left)} containers"
        " without a node, by order of arrival."
    )


def limit(study: Study) -> str:
    """What holds of containers that wait besides the limits given, a clause; or nothing."""
    load, rows = study.about["workload"], study.frames["policies"]
    judged = load.get("settled_steps", load.get("steps")) == load.get("steps")
    placed = _placed(study.about["measures"], all_judged=judged)
    # a study of an earlier version does not say it
    known = WAITS_WITH_ALL in rows.columns
    some = rows.filter(pl.col(WAITS_WITH_ALL).is_not_null()) if known else rows.clear()
    if some.is_empty():
        return placed
    no_more = f"no more wait than with all nodes, and at most {OF_WHAT}"
    if some.height == rows.filter(pl.col("nodes").is_not_null()).height:
        return no_more
    return f"{placed}; under {few(some['policy'].to_list())} {no_more}"


def _placed(given: Sequence[str], *, all_judged: bool) -> str:
    """What holds of those of ``WAITING`` that no limit speaks of."""
    never, steps = (name in given for name in WAITING)
    if never and steps:
        return ""
    if never:
        return (
            f"no container waits in any step, one that is left without a node either"
            f" ({WAITING[1]} == 0, as no limit speaks of it)"
        )
    if steps:
        return "every container is placed in the end"
    placed = "every container is placed"
    return f"{placed} at once" if all_judged else f"{placed}, at once in the time that is judged"


def _up_to(about: Mapping[str, Any]) -> str:
    return "up to " if about["repeats"] > 1 else ""


def _every(about: Mapping[str, Any]) -> str:
    return count(about["workload"]["containers"], "container")
