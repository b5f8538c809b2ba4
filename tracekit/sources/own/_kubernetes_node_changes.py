"""A node of a watch log, or of several lists, over time: what changed of it, and since when."""

import contextlib
import json
from collections.abc import Sequence
from typing import Any

from tracekit.sources.own._kubernetes_objects import Thing, latest_ms, time_ms
from tracekit.sources.own._kubernetes_shape import CORDON_TAINT, Rows

#: What a row says of when and where, and not of the node.
_PLACE = ("time_ms", "line")


def changed(before: Rows, after: Rows, thing: Thing) -> Rows:
    """The rows of a node with those of a later event, each from the time of that event on.

    The time is the latest that the event speaks of. Where that is no later than the last row, the
    event says nothing of when: it counts for the last row. A resource that a node has no more is 0.
    """
    time = latest_ms(thing.value) or 0
    nodes = _with(before["node"], after["node"][:1], time) + after["node"][1:]
    sizes = {one["resource"]: one for one in after["node_resource"]}
    names = dict.fromkeys(one["resource"] for one in [*before["node_resource"], *sizes.values()])
    resources: list[dict[str, Any]] = []
    for name in names:
        known = [one for one in before["node_resource"] if one["resource"] == name]
        now = sizes.get(name) or {**known[-1], "amount": 0.0, "line": thing.number}
        # what a node has not from the beginning it has from then on
        resources += _with(known, [now], time) if known else [{**now, "time_ms": time}]
    return {"node": nodes, "node_resource": resources}


def dated(rows: Rows, thing: Thing) -> Rows:
    """The rows of a node of one list, closed from the time on at which its taint says it was."""
    nodes = rows.get("node") or []
    since = _cordoned_ms(thing) if nodes and thing.event is None else None
    if since is None or nodes[0]["state"] != "closed" or since <= nodes[0]["time_ms"]:
        return rows
    first, *later = nodes
    marks = [one for one in json.loads(first["taints"]) if one["key"] != CORDON_TAINT]
    before = {**first, "state": "ready", "taints": json.dumps(marks) if marks else None}
    return {**rows, "node": [before, {**first, "time_ms": since}, *later]}


def _cordoned_ms(thing: Thing) -> int | None:
    """Since when a node takes nothing new; None where that is not said."""
    for one in (thing.value.get("spec") or {}).get("taints") or ():
        if one.get("key") == CORDON_TAINT and one.get("timeAdded"):
            with contextlib.suppress(ValueError):
                return time_ms(str(one["timeAdded"]))
    return None


def over_lists(states: Sequence[tuple[Thing, Rows]]) -> Rows:
    """The rows of a node that several lists hold, from each list on what that says of it.

    Parameters
    ----------
    states : sequence of (Thing, rows)
        In order of time. When it left is told by the last alone.
    """
    (_, found), *later = states
    for thing, rows in later:
        there = [row for row in found["node"] if row["state"] != "gone"]
        found = changed({**found, "node": there}, rows, thing)
    return found


def _with(
    known: list[dict[str, Any]], now: list[dict[str, Any]], time: int
) -> list[dict[str, Any]]:
    """Rows of one thing with the row of now, if it says something new."""
    last = known[-1]
    for one in now:
        if all(last[name] == one[name] for name in one if name not in _PLACE):
            continue
        if time <= last["time_ms"]:
            return [*known[:-1], {**one, "time_ms": last["time_ms"]}]
        return [*known, {**one, "time_ms": time}]
    return known
