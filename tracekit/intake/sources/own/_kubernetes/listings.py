"""What several files of kubectl say together: the later counts, and what it lists no more has left.

A list of the API holds all that there is at its time, of the kinds and namespaces that it shows: a
node or pod that an earlier file holds and a later list does not has left between the two. A pod
left when the pod came that replaces it: the first of its service when the first new one of it was
created, and so on; what nothing replaces left when the later list was made. The time of a file is
the latest that any of its objects speaks of. What several files hold is taken from the latest.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from tracekit.base.constants import CORDON_TAINT
from tracekit.intake.sources.own._kubernetes.objects import (
    Key,
    Thing,
    arrival_ms,
    latest_ms,
    time_ms,
)
from tracekit.intake.sources.own._kubernetes.shape import Rows, pod_service
from tracekit.intake.sources.own._kubernetes.template import template_of

#: Rows of what a pod asks for, by resource.
Asked = tuple[Mapping[str, Any], ...]


_NODE_META = ("name", "uid", "creationTimestamp", "labels", "annotations")


def _slim(node: Thing) -> Thing:
    """A node without what no row says of it: the images it holds are most of it."""
    value, meta = node.value, node.value["metadata"]
    status = value.get("status")
    status = status if isinstance(status, dict) else {}
    kept = {
        "metadata": {one: meta.get(one) for one in _NODE_META},
        "spec": value.get("spec"),
        "status": {one: status.get(one) for one in ("allocatable", "conditions")},
    }
    return replace(node, value=kept)


@dataclass(kw_only=True)
class _One:
    """A node or pod as one file holds it."""

    space: str
    service: str
    came_ms: int
    asked: Asked
    node: Thing | None = None
    over: bool = False


@dataclass(kw_only=True)
class Listing:
    """What one file holds.

    Attributes
    ----------
    alone : bool
        Whether it is the only file, of which it is enough to hold the pods that are over.
    time_ms : int
        The latest time that any of its objects speaks of; 0 where none does.
    lists : bool
        Whether it is a list, and a whole one: no page of one, no log of a watch.
    """

    name: str
    alone: bool = False
    time_ms: int = 0
    lists: bool = True
    held: dict[Key, _One] = field(default_factory=dict)

    def note(self, thing: Thing) -> None:
        """A thing of the file."""
        self.lists &= thing.listed
        meta = thing.value["metadata"]
        self.time_ms = max(self.time_ms, latest_ms(thing.value) or 0)
        if self.alone and not _is_over(thing):
            return
        came, service = 0, ""
        asked: Asked = ()
        if thing.kind == "Pod":
            # what is wrong with it is said when its rows are made
            with suppress(KeyError, TypeError, AttributeError, ValueError):
                came = arrival_ms(thing.value)
                service = pod_service(meta, thing.value["spec"].get("nodeName"))
                asked = template_of(thing.value["spec"]).sizes(thing.value.get("status")).asked
        space = str(meta.get("namespace") or "default")
        node = _slim(thing) if thing.kind == "Node" else None
        self.held[thing.key] = _One(
            space=space, service=service, came_ms=came, asked=asked, node=node, over=_is_over(thing)
        )

    def of_one_cluster(self, other: Listing) -> bool:
        """Whether both hold some thing or service: lists by other labels have none in common."""
        services = {one.service for one in self.held.values() if one.service}
        return bool(self.held.keys() & other.held.keys()) or any(
            one.service in services for one in other.held.values() if one.service
        )


@dataclass(kw_only=True)
class Together:
    """What files say together.

    Attributes
    ----------
    last : dict
        The file that a thing is taken from, where several hold it.
    left_ms : dict
        When a thing left that a later list does not hold.
    differs : dict
        By file and thing, what the later file says of its size, where that is another.
    earlier : dict
        Of a node that several files hold, what the earlier ones hold of it, in order of time.
    """

    last: dict[Key, str] = field(default_factory=dict)
    left_ms: dict[Key, int] = field(default_factory=dict)
    differs: dict[tuple[str, Key], str] = field(default_factory=dict)
    earlier: dict[Key, list[Thing]] = field(default_factory=dict)

    def taken_from(self, key: Key, name: str) -> bool:
        """Whether a thing is taken from this file."""
        return self.last.get(key, name) == name


def together(some: Iterable[Listing]) -> Together:
    """What files say together; of equal times the later by name counts."""
    listings = sorted(some, key=lambda one: (one.time_ms, one.name))
    found = Together()
    for at, listing in enumerate(listings):
        for key, one in listing.held.items():
            before = found.last.get(key)
            if before is not None:
                earlier = next(old for old in listings if old.name == before).held[key]
                if earlier.node is not None:
                    found.earlier.setdefault(key, []).append(earlier.node)
                if earlier.asked != one.asked and earlier.asked and one.asked:
                    found.differs[before, key] = _said(earlier.asked, one.asked, listing.name)
            found.last[key] = listing.name
            found.left_ms.pop(key, None)
        for earlier_one in listings[:at] if listing.lists else ():
            if listing.time_ms > earlier_one.time_ms and listing.of_one_cluster(earlier_one):
                _leave(found, earlier_one, listing)
    return found


def _is_over(thing: Thing) -> bool:
    """Whether it is a pod of a list that holds nothing any more."""
    status = thing.value.get("status") if thing.kind == "Pod" else None
    return (
        thing.event is None
        and isinstance(status, dict)
        and status.get("phase") in ("Succeeded", "Failed")
    )


def _leave(found: Together, earlier: Listing, later: Listing) -> None:
    """Note what the later list holds no more."""
    kinds = {kind for kind, _ in later.held}
    spaces = _spaces(later)
    # a list of one namespace says nothing of another; one of several is of all, unless both files
    # are of several and have none in common
    of_all = len(spaces) > 1 and not spaces.isdisjoint(_spaces(earlier))
    gone: dict[str, list[tuple[int, Key]]] = {}
    for key, one in earlier.held.items():
        missing = key[0] in kinds and key not in later.held and key not in found.left_ms
        if missing and (key[0] == "Node" or of_all or one.space in spaces):
            gone.setdefault(one.service, []).append((one.came_ms, key))
    new: dict[str, list[int]] = {}
    for key, one in later.held.items():
        if key not in earlier.held and one.came_ms > earlier.time_ms and one.service:
            new.setdefault(one.service, []).append(one.came_ms)
    for service, those in gone.items():
        ends = sorted(new.get(service, ()))
        for at, (_, key) in enumerate(sorted(those)):
            found.left_ms[key] = ends[at] if at < len(ends) else later.time_ms


def _spaces(listing: Listing) -> set[str]:
    return {one.space for (kind, _), one in listing.held.items() if kind == "Pod"}


def _said(before: Asked, after: Asked, name: str) -> str:
    """The first resource of which two files state different amounts."""
    first, later = ({one["resource"]: one for one in some} for some in (before, after))
    what = next(one for one in {**first, **later} if first.get(one) != later.get(one))
    return f"of {what} is {_shown(first.get(what))}, and {_shown(later.get(what))} in {name}"


def _shown(stated: Mapping[str, Any] | None) -> str:
    request, limit = (stated["request"], stated["limit"]) if stated else (None, None)
    said = "nothing" if request is None else f"{request:,.12g}"
    return said if limit is None or limit == request else f"{said} to {limit:,.12g}"


# A node of a watch log, or of several lists, over time: what changed of it, and since when.

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
    """The rows of a listed node, with another row from the time at which it was cordoned.

    A node without that time was cordoned always. Its other taints hold all the time, since a replay
    takes the taints that a node has when use begins.
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
