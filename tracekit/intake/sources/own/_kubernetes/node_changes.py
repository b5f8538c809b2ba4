"""A node of a watch log, or of several lists, over time: what changed of it, and since when."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tracekit.base.constants import CORDON_TAINT
from tracekit.intake.sources.own._kubernetes.objects import Thing, latest_ms, time_ms
from tracekit.intake.sources.own._kubernetes.shape import Rows

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
    """The rows of a node of one list; it is closed since when that is said.

    Other taints hold all the time: a replay has those that a node has when use begins.
    """
    nodes = rows.get("node") or []
    if not nodes or thing.event is not None or nodes[0]["taints"] is None:
        return rows
    first, *later = nodes
    since = [
        (_since_ms(thing.value, one) if one["key"] == CORDON_TAINT else 0, one)
        for one in json.loads(first["taints"])
    ]
    begins = [first["time_ms"], *sorted({at for at, _ in since if at > first["time_ms"]})]
    states = []
    for time in begins:
        marks = [one for at, one in since if at <= time]
        cordoned = any(one["key"] == CORDON_TAINT and at > time for at, one in since)
        state = "ready" if cordoned else first["state"]
        taints = json.dumps(marks) if marks else None
        states.append({**first, "time_ms": time, "state": state, "taints": taints})
    return {**rows, "node": [*states, *later]}


def _since_ms(node: Mapping[str, Any], taint: Mapping[str, Any]) -> int:
    """Since when a node has a taint; 0 where that is not said."""
    stated = [
        one.get("timeAdded")
        for one in (node.get("spec") or {}).get("taints") or ()
        if (one.get("key"), one.get("effect")) == (taint["key"], taint["effect"])
    ]
    with contextlib.suppress(ValueError, StopIteration):
        return time_ms(str(next(one for one in stated if one)))
    return 0


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
