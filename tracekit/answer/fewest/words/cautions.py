"""Cautions beside a count of nodes: its policy, what is not counted, who stays, full memory.

Each is a sentence that begins with a space, or empty. ``named`` is a policy's name.
"""

from collections.abc import Mapping
from typing import Any

from tracekit.answer.fitness import STICK
from tracekit.replay.workload.facts_told import SET_ASIDE
from tracekit.units import percent
from tracekit.words import agreeing, listed

#: What is told beside the count wherever it is told.
EVICTING = "a kubelet is near to evicting"
#: From this use of memory on a node is as good as full.
_NEAR = 0.95


def named(about: Mapping[str, Any], policy: str) -> str:
    """A policy, and that it is a yardstick where it is one."""
    return f"{policy} ({STICK})" if policy in about.get("yardsticks", ()) else policy


def not_counted(load: Mapping[str, Any]) -> str:
    """That requests for a resource are set aside; ``load`` is the workload of a study."""
    names = [
        f"{name.partition(': ')[2]} ({how.removeprefix(SET_ASIDE).strip()})"
        for name, how in load.get("quantities", {}).items()
        if name.startswith("requests: ") and how.startswith(SET_ASIDE)
    ]
    if not names:
        return ""
    return f" Requests of {listed(names)} are not counted: nodes that go may be needed for them."


def left_waiting(load: Mapping[str, Any]) -> str:
    """That containers which wait in production are not counted; as ``not_counted``."""
    count = load.get("containers_left_waiting", 0)
    large = load.get("containers_left_waiting_too_large", 0)
    if not count:
        return ""
    said = agreeing(
        count, "[container waits|containers wait] for a node in production and [is|are] not counted"
    )
    if large == count:
        return f" {said}: {'it is' if count == 1 else 'they are'} too large for any node there is."
    others = f", {large:,} of them too large for any" if large else ""
    return f" {said}{others}: with --assume waiting=place they are."


def nobody_leaves(load: Mapping[str, Any]) -> str:
    """That all containers stay to the end because an assumption says so; as ``not_counted``."""
    if load.get("assumptions", {}).get("departures") != "none":
        return ""
    return (
        " No container leaves here (assumed: departures=none), so that all of them count together:"
        " with --assume departures=recorded far fewer nodes may be enough."
    )


def nearly_full(there: float | None, usual: float | None) -> str:
    """That memory of a node comes near to all it has, in production ``usual``; shares 0..1."""
    if there is None or not _NEAR <= there <= 1:
        return ""
    beside = "" if usual is None else f" (in production {percent(usual, 1)})"
    return (
        f" Where {percent(there, 1)} of a node's memory is in use{beside} {EVICTING}:"
        " --limit 'memory_max_fraction <= 0.9' keeps away from it."
    )


def nodes_aside(about: Mapping[str, Any]) -> str:
    """What is not known of nodes, sentences; empty where all is."""
    load = about["workload"]
    aside, blind = (load.get(name, 0) for name in ("nodes_set_aside", "nodes_without_own_use"))
    parts = []
    if aside:
        are = "node is" if aside == 1 else "nodes are"
        parts.append(f" {aside:,} further {are} in no count, as too little of them is recorded.")
    if blind:
        parts.append(
            f" On {blind:,} of the {load['nodes']:,} only containers count, as the use of"
            f" {'this node' if blind == 1 else 'these nodes'} is not recorded."
        )
    return "".join(parts)
