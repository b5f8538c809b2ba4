"""Snapshots and records of kube-scheduler-simulator: nodes and pods of Kubernetes.

Facts: kubernetes-sigs/kube-scheduler-simulator, simulator/snapshot and simulator/recorder.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from tracekit.base.errors import TracekitError
from tracekit.intake.sources._source import ClusterFile, ClusterSource, Head, Opened, Read
from tracekit.intake.sources.own._json_items import BrokenItem, first_members, items
from tracekit.intake.sources.own._kubernetes.objects import Thing, time_ms
from tracekit.intake.sources.own._roster import Roster, note_things
from tracekit.intake.sources.own._roster_read import rows_of_things

_EVENTS = {"Add": "ADDED", "Update": "MODIFIED", "Delete": "DELETED"}
_HEAD_BYTES = 1 << 16
_START = datetime.fromtimestamp(0, UTC).isoformat()


def is_snapshot(head: Head) -> bool:
    """Return whether a file begins as an object with ``pods`` and ``nodes``, without ``kind``."""
    members = first_members(head)
    lists = [name for name, value in members.items() if value == [] or value is None]
    cut = len(head.start) >= _HEAD_BYTES and list(members)[:1] == ["pods"]
    return "pods" in lists and ("nodes" in lists or cut) and "kind" not in members


def is_record(head: Head) -> bool:
    """Return whether a file begins as an event with a time and an object."""
    members = first_members(head)
    return str(members.get("event")) in _EVENTS and {"time", "resource"} <= set(members)


def read_snapshot(opened: Opened) -> Read:
    """Yield the nodes and pods of a snapshot.

    Raises
    ------
    TracekitError
        For a file that is no complete JSON.
    """
    with opened.stream() as stream:
        try:
            snapshot = json.load(stream)
        except (ValueError, RecursionError) as error:
            raise TracekitError(
                f"{opened.name} is no whole JSON: {error}", hint="export the snapshot again"
            ) from None
    yield from _rows(lambda: _of_snapshot(snapshot))


def read_record(opened: Opened) -> Read:
    """Yield the nodes and pods of a record in their last states; a deleted one has departed."""
    yield from _rows(lambda: _of_record(opened))


def _rows(objects: Callable[[], Iterator[Thing | BrokenItem]]) -> Read:
    roster = Roster()
    note_things(roster, objects())
    roster.settle()
    yield from rows_of_things(objects(), roster)


def _of_snapshot(snapshot: Mapping[str, Any]) -> Iterator[Thing | BrokenItem]:
    """The objects of a snapshot, nodes first.

    An object without a time of creation gets the earliest time of all.
    """
    lists = {kind: snapshot.get(name) or () for kind, name in (("Node", "nodes"), ("Pod", "pods"))}
    stated = [
        one["metadata"].get("creationTimestamp")
        for some in lists.values()
        for one in some
        if _named(one) is not None
    ]
    start = min((one for one in stated if one and isinstance(one, str)), default=_START)
    classes = snapshot.get("priorityClasses") or ()
    priorities = {name: one.get("value") for one in classes if (name := _named(one)) is not None}
    number = 0
    for kind, some in {**lists, "PriorityClass": classes}.items():
        for value in some:
            number += 1
            if _named(value) is None:
                yield _cut(number, value, f"is no {kind} with a name")
            elif kind != "PriorityClass":
                whole = _timed(_prior(value, priorities), start)
                yield Thing(number=number, kind=kind, value=whole, event=None)


def _of_record(opened: Opened) -> Iterator[Thing | BrokenItem]:
    """The events of the nodes and pods in a record.

    An object without a time of creation gets the time of its first event. A pod without a uid that
    is added after its end begins another life.
    """
    priorities: dict[str, Any] = {}
    #: The number of the present life of each object, and its creation.
    lives: dict[str, int] = {}
    created: dict[str, str] = {}
    for item in items(opened):
        if isinstance(item, BrokenItem):
            yield item
            continue
        record, number = item.value, item.number
        value: Any = record.get("resource") if isinstance(record, dict) else None
        name = _named(value)
        if name is None or str(record.get("event")) not in _EVENTS:
            yield _cut(number, record, "is no event of an object with a name")
            continue
        kind, event = str(value.get("kind", "")), _EVENTS[record["event"]]
        if kind == "PriorityClass":
            priorities[name] = value.get("value")
        if kind not in {"Node", "Pod"}:
            continue
        try:
            at = datetime.fromtimestamp(time_ms(record["time"]) / 1000, UTC).isoformat()
        except (KeyError, TypeError, ValueError):
            yield _cut(number, record, "has no time as RFC 3339 writes it")
            continue
        key = f"{kind} {value['metadata'].get('namespace')}/{name}"
        life = lives.setdefault(key, 1)
        value = _prior(_timed(value, created.setdefault(key, at)), priorities)
        if event == "DELETED":
            value = {**value, "metadata": {**value["metadata"], "deletionTimestamp": at}}
            lives[key] = life + 1
            del created[key]
        yield Thing(number=number, kind=kind, value=value, event=event, life=life)


def _named(value: Any) -> str | None:
    meta = value.get("metadata") if isinstance(value, dict) else None
    name = meta.get("name") if isinstance(meta, dict) else None
    return name if isinstance(name, str) and name else None


def _timed(value: dict[str, Any], at: str) -> dict[str, Any]:
    """The object with ``at`` as its time of creation, where it states none."""
    meta = value["metadata"]
    if meta.get("creationTimestamp"):
        return value
    return {**value, "metadata": {**meta, "creationTimestamp": at}}


def _prior(value: dict[str, Any], priorities: Mapping[str, Any]) -> dict[str, Any]:
    """The pod with the priority of its class, where it states none."""
    spec = value.get("spec")
    if not isinstance(spec, dict) or spec.get("priority") is not None:
        return value
    priority = priorities.get(str(spec.get("priorityClassName")))
    return value if priority is None else {**value, "spec": {**spec, "priority": priority}}


def _cut(number: int, value: Any, reason: str) -> BrokenItem:
    return BrokenItem(number=number, reason=reason, text=json.dumps(value))


_TABLES = ("node", "node_resource", "container", "container_resource", "fixed_request")

KUBE_SCHEDULER_SIMULATOR = ClusterSource(
    name="kube_scheduler_simulator",
    title="Snapshots and records of kube-scheduler-simulator",
    url="https://github.com/kubernetes-sigs/kube-scheduler-simulator",
    licence="your own data",
    files=(
        ClusterFile(
            word="snapshot",
            title="what /api/v1/export answers: pods, nodes and their classes",
            tables=_TABLES,
            recognises=is_snapshot,
            read=read_snapshot,
        ),
        ClusterFile(
            word="record",
            title="events of objects, a line each",
            tables=_TABLES,
            recognises=is_record,
            read=read_record,
        ),
    ),
    lacks=("use", "calls", "volumes", "the scheduler's configuration"),
    inferred=("priority of a pod that states none: that of its priority class",),
    notes=(
        "an object of a record that says no time of creation came with its first event",
        "an object of a snapshot that says no time of creation was there from the start",
    ),
)
