"""Combines several files of kubectl: the state of each object over all files.

A list of the API holds all objects of its kinds and namespaces at its time. A node or pod of an
earlier file that a later list lacks has left between the two. A pod leaves when its replacement is
created: the first pod of a service with the first new pod of the service, and so on. An object
without a replacement leaves at the time of the later list. An object in several files is taken from
the latest file. The time of a file is the latest time that any of its objects states.
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

#: Rows of the sizes of a pod, one for each resource.
SizeRows = tuple[Mapping[str, Any], ...]


_NODE_META = ("name", "uid", "creationTimestamp", "labels", "annotations")


def _slim(node: Thing) -> Thing:
    """A node with only the members that rows need; its list of images is large."""
    value, meta = node.value, node.value["metadata"]
    status = value.get("status")
    status = status if isinstance(status, dict) else {}
    slim = {
        "metadata": {one: meta.get(one) for one in _NODE_META},
        "spec": value.get("spec"),
        "status": {one: status.get(one) for one in ("allocatable", "conditions")},
    }
    return replace(node, value=slim)


@dataclass(kw_only=True)
class _One:
    """A node or pod as one file holds it."""

    space: str
    service: str
    came_ms: int
    sizes: SizeRows
    node: Thing | None = None
    over: bool = False


@dataclass(kw_only=True)
class Listing:
    """The nodes and pods of one file that kubectl printed, kept to compare it with other files.

    Attributes
    ----------
    alone : bool
        Whether the ingest has no other such file; then ``held`` has the ended pods only.
    time_ms : int
        The latest time that any object states; 0 without any time.
    lists : bool
        Whether the file is a complete list: neither a page of a longer list nor a watch log.
    """

    name: str
    alone: bool = False
    time_ms: int = 0
    lists: bool = True
    held: dict[Key, _One] = field(default_factory=dict)

    def note(self, thing: Thing) -> None:
        """Record an object of the file."""
        self.lists &= thing.listed
        meta = thing.value["metadata"]
        self.time_ms = max(self.time_ms, latest_ms(thing.value) or 0)
        if self.alone and not _is_over(thing):
            return
        came, service = 0, ""
        sizes: SizeRows = ()
        if thing.kind == "Pod":
            # a wrong object is rejected later, with its rows
            with suppress(KeyError, TypeError, AttributeError, ValueError):
                came = arrival_ms(thing.value)
                service = pod_service(meta, thing.value["spec"].get("nodeName"))
                sizes = template_of(thing.value["spec"]).sizes(thing.value.get("status")).resources
        space = str(meta.get("namespace") or "default")
        node = _slim(thing) if thing.kind == "Node" else None
        self.held[thing.key] = _One(
            space=space, service=service, came_ms=came, sizes=sizes, node=node, over=_is_over(thing)
        )

    def of_one_cluster(self, other: Listing) -> bool:
        """Return whether both files have an object or a service in common.

        Two lists of one cluster that were chosen by different labels have nothing in common.
        """
        services = {one.service for one in self.held.values() if one.service}
        return bool(self.held.keys() & other.held.keys()) or any(
            one.service in services for one in other.held.values() if one.service
        )


@dataclass(kw_only=True)
class MergedListings:
    """The objects of several files of one ingest, as ``together`` combines them.

    Attributes
    ----------
    last : dict
        The latest file that holds each object.
    left_ms : dict
        When each object that a later list lacks left the cluster, in ms.
    differs : dict
        By file and pod: how its sizes differ from those in a later file, as a text.
    earlier : dict
        The states of a node in earlier files, in order of time.
    """

    last: dict[Key, str] = field(default_factory=dict)
    left_ms: dict[Key, int] = field(default_factory=dict)
    differs: dict[tuple[str, Key], str] = field(default_factory=dict)
    earlier: dict[Key, list[Thing]] = field(default_factory=dict)

    def taken_from(self, key: Key, name: str) -> bool:
        """Return whether this file gives the rows of an object: the latest file with the object."""
        return self.last.get(key, name) == name


def together(some: Iterable[Listing]) -> MergedListings:
    """Combine files in order of ``time_ms``, then of their names."""
    listings = sorted(some, key=lambda one: (one.time_ms, one.name))
    all_files = MergedListings()
    for at, listing in enumerate(listings):
        for key, one in listing.held.items():
            before = all_files.last.get(key)
            if before is not None:
                earlier = next(old for old in listings if old.name == before).held[key]
                if earlier.node is not None:
                    all_files.earlier.setdefault(key, []).append(earlier.node)
                if earlier.sizes != one.sizes and earlier.sizes and one.sizes:
                    all_files.differs[before, key] = _difference(
                        earlier.sizes, one.sizes, listing.name
                    )
            all_files.last[key] = listing.name
            all_files.left_ms.pop(key, None)
        for earlier_one in listings[:at] if listing.lists else ():
            if listing.time_ms > earlier_one.time_ms and listing.of_one_cluster(earlier_one):
                _leave(all_files, earlier_one, listing)
    return all_files


def _is_over(thing: Thing) -> bool:
    """Whether an object is an ended pod of a list."""
    status = thing.value.get("status") if thing.kind == "Pod" else None
    return (
        thing.event is None
        and isinstance(status, dict)
        and status.get("phase") in ("Succeeded", "Failed")
    )


def _leave(all_files: MergedListings, earlier: Listing, later: Listing) -> None:
    """Record the objects of the earlier file that left before the later list."""
    kinds = {kind for kind, _ in later.held}
    spaces = _spaces(later)
    # a list of one namespace says nothing of another; one of several is of all, unless both files
    # are of several and have none in common
    of_all = len(spaces) > 1 and not spaces.isdisjoint(_spaces(earlier))
    gone: dict[str, list[tuple[int, Key]]] = {}
    for key, one in earlier.held.items():
        missing = key[0] in kinds and key not in later.held and key not in all_files.left_ms
        if missing and (key[0] == "Node" or of_all or one.space in spaces):
            gone.setdefault(one.service, []).append((one.came_ms, key))
    new: dict[str, list[int]] = {}
    for key, one in later.held.items():
        if key not in earlier.held and one.came_ms > earlier.time_ms and one.service:
            new.setdefault(one.service, []).append(one.came_ms)
    for service, those in gone.items():
        ends = sorted(new.get(service, ()))
        for at, (_, key) in enumerate(sorted(those)):
            all_files.left_ms[key] = ends[at] if at < len(ends) else later.time_ms


def _spaces(listing: Listing) -> set[str]:
    return {one.space for (kind, _), one in listing.held.items() if kind == "Pod"}


def _difference(before: SizeRows, after: SizeRows, name: str) -> str:
    """The first difference of the sizes of a pod in two files, as a text for a reject."""
    first, later = ({one["resource"]: one for one in some} for some in (before, after))
    what = next(one for one in {**first, **later} if first.get(one) != later.get(one))
    return f"of {what} is {_shown(first.get(what))}, and {_shown(later.get(what))} in {name}"


def _shown(stated: Mapping[str, Any] | None) -> str:
    request, limit = (stated["request"], stated["limit"]) if stated else (None, None)
    shown = "nothing" if request is None else f"{request:,.12g}"
    return shown if limit is None or limit == request else f"{shown} to {limit:,.12g}"


#: Columns that state no property of the node.
_PLACE = ("time_ms", "line")


def changed(before: Rows, after: Rows, thing: Thing) -> Rows:
    """Return the rows of a node with those of a later event added, from the time of the event on.

    The time of an event is the latest time that its object states. If it is not later than the last
    row, the last row is replaced. A resource that the event lacks becomes 0.
    """
    time = latest_ms(thing.value) or 0
    nodes = _with(before["node"], after["node"][:1], time) + after["node"][1:]
    sizes = {one["resource"]: one for one in after["node_resource"]}
    names = dict.fromkeys(one["resource"] for one in [*before["node_resource"], *sizes.values()])
    resources: list[dict[str, Any]] = []
    for name in names:
        earlier = [one for one in before["node_resource"] if one["resource"] == name]
        now = sizes.get(name) or {**earlier[-1], "amount": 0.0, "line": thing.number}
        # a new resource begins with the event
        resources += _with(earlier, [now], time) if earlier else [{**now, "time_ms": time}]
    return {"node": nodes, "node_resource": resources}


def dated(rows: Rows, thing: Thing) -> Rows:
    """Return the rows of a listed node, with a second row from the time of its cordon on.

    A node that states no such time is cordoned from the beginning. Other taints also hold from the
    beginning, because a replay takes the taints at the first use.
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
    """The time from which a node has a taint, in ms; 0 where the node states none."""
    stated = [
        one.get("timeAdded")
        for one in (node.get("spec") or {}).get("taints") or ()
        if (one.get("key"), one.get("effect")) == (taint["key"], taint["effect"])
    ]
    with contextlib.suppress(ValueError, StopIteration):
        return time_ms(str(next(one for one in stated if one)))
    return 0


def over_lists(states: Sequence[tuple[Thing, Rows]]) -> Rows:
    """Combine the rows of a node from several lists; each list holds from its time on.

    Parameters
    ----------
    states : sequence of (Thing, rows)
        The node and its rows in each list, in order of time. Only the last may state its end.
    """
    (_, combined), *later = states
    for thing, rows in later:
        living = [row for row in combined["node"] if row["state"] != "gone"]
        combined = changed({**combined, "node": living}, rows, thing)
    return combined


def _with(
    before: list[dict[str, Any]], now: list[dict[str, Any]], time: int
) -> list[dict[str, Any]]:
    """The rows of one thing, with a further row where it states something new."""
    last = before[-1]
    for one in now:
        if all(last[name] == one[name] for name in one if name not in _PLACE):
            continue
        if time <= last["time_ms"]:
            return [*before[:-1], {**one, "time_ms": last["time_ms"]}]
        return [*before, {**one, "time_ms": time}]
    return before
