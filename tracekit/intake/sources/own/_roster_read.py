"""Makes rows of nodes and containers from the objects that kubectl printed."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from tracekit.intake.sources._source import Broken, Opened, Read
from tracekit.intake.sources.own._json_items import BrokenItem
from tracekit.intake.sources.own._kubernetes import rules
from tracekit.intake.sources.own._kubernetes.listings import changed, dated, over_lists
from tracekit.intake.sources.own._kubernetes.objects import (
    Key,
    Thing,
    check_not_empty,
    last_change_ms,
    things,
    time_ms,
)
from tracekit.intake.sources.own._kubernetes.requests import (
    QuantityError,
    amount,
    resource,
    unit,
)
from tracekit.intake.sources.own._kubernetes.shape import (
    MISSHAPEN,
    Rows,
    batches,
    node_rows,
    over_time,
    pod_service,
    taints_of,
)
from tracekit.intake.sources.own._kubernetes.template import (
    Family,
    Template,
    template_of,
)
from tracekit.intake.sources.own._roster import Roster, end_ms, place_ms, roster_beside

_BATCH = 1 << 17


class _PodError(ValueError):
    """The fault of an object, with the table and column of the reject."""

    def __init__(self, table: str, column: str, reason: str) -> None:
        super().__init__(reason)
        self.table, self.column = table, column


def read_objects(opened: Opened) -> Read:
    """Yield rows of the nodes and pods in a file; a pod of a watch log has only its last state."""
    roster = roster_beside(opened, "objects")
    if not (roster.names or roster.nodes or roster.state.nodes or opened.stored_sizes):
        check_not_empty(opened)
    other: dict[Key, Thing] = {}
    yield from rows_of_things(_own(opened, roster, other), roster)
    for thing in other.values():
        yield _superseded(thing, roster.together.differs[opened.name, thing.key])


def _own(opened: Opened, roster: Roster, other: dict[Key, Thing]) -> Iterable[Thing | BrokenItem]:
    """Yield the objects whose rows come from this file.

    ``other`` gets the objects that a later file holds with other sizes.
    """
    for thing in things(opened):
        if isinstance(thing, BrokenItem) or roster.together.taken_from(thing.key, opened.name):
            yield thing
        elif (opened.name, thing.key) in roster.together.differs:
            other[thing.key] = thing


def _superseded(thing: Thing, difference: str) -> Broken:
    return Broken(
        table="container_resource",
        line=thing.number,
        column="request",
        reason=f"{difference}, expected one size: the later file counts",
        text=thing.name,
    )


def rows_of_things(some: Iterable[Thing | BrokenItem], roster: Roster) -> Read:
    """Yield the rows of nodes and pods.

    In a watch log, a pod has the rows of its last event, and a node the rows of all its changes.
    """
    seen: dict[Key, tuple[int, str]] = {}
    last: dict[tuple[str, str], Rows] = {}
    rows: Rows = {}
    for thing in some:
        own = _rows_or_reject(thing, roster, seen)
        if isinstance(own, Broken):
            yield own
            continue
        if isinstance(thing, Thing) and thing.kind == "Node":
            yield from _bad_sizes(thing)
        if isinstance(thing, Thing) and thing.event is not None:
            before = last.get(thing.key) if thing.kind == "Node" else None
            last[thing.key] = own if before is None else changed(before, own, thing)
        else:
            _extend(rows, own)
        if sum(map(len, rows.values())) > _BATCH:
            yield from batches(rows)
            rows = {}
    for own in last.values():
        _extend(rows, own)
    yield from batches(rows)


def _rows_or_reject(
    thing: Thing | BrokenItem, roster: Roster, seen: dict[Key, tuple[int, str]]
) -> Rows | Broken:
    """The rows of an object, or its reject.

    ``seen`` has the number and the name under which each object came first.
    """
    if isinstance(thing, BrokenItem):
        return Broken(table="container", line=thing.number, reason=thing.reason, text=thing.text)
    if thing.kind not in ("Node", "Pod"):
        return {}
    # many events may be of one object, under one name
    number, name = seen.setdefault(thing.key, (thing.number, thing.name))
    if name != thing.name:
        return _twice(thing, number)
    if thing.event is None:
        # an object that is listed again gives equal rows, of which the first count
        thing = thing if thing.number == number else replace(thing, number=number)
    rows = _rows(thing, roster)
    before = roster.together.earlier.get(thing.key) if thing.event is None else None
    if isinstance(rows, Broken) or thing.kind == "Pod":
        return rows
    earlier = [replace(one, number=thing.number) for one in before or ()]
    every = ((one, _rows(one, roster)) for one in earlier)
    states = [(one, state) for one, state in every if not isinstance(state, Broken)]
    (first, begun), *later = [*states, (thing, rows)]
    # a list holds for the time before it, too
    begun = dated(begun, first) if roster.series else begun
    return over_lists([(first, begun), *later]) if later else begun


def _extend(rows: Rows, own: Rows) -> None:
    """Add the rows of one object."""
    for table, more in own.items():
        rows.setdefault(table, []).extend(over_time(more) if table == "node" else more)


def _twice(thing: Thing, first: int) -> Broken:
    table, column = ("node", "node") if thing.kind == "Node" else ("container", "uid")
    reason = f"is '{thing.key[1]}', the {column} of object {first}, expected its own"
    return Broken(table=table, line=thing.number, column=column, reason=reason, text=thing.name)


def _rows(thing: Thing, roster: Roster) -> Rows | Broken:
    make: Callable[[Thing, Roster], Rows] = _node if thing.kind == "Node" else _pod
    table = "node" if thing.kind == "Node" else "container"
    column = None
    try:
        return make(thing, roster)
    except _PodError as error:
        table, column, reason = error.table, error.column, str(error)
    except QuantityError as error:
        column, reason = "request", str(error)
    except ValueError as error:
        reason = str(error)
    except (KeyError, TypeError, AttributeError):
        reason = f"is no {thing.kind}: {MISSHAPEN}"
    text = f"{thing.name}: {json.dumps(thing.value)}"
    return Broken(table=table, line=thing.number, column=column, reason=reason, text=text)


def _node(thing: Thing, roster: Roster) -> Rows:
    meta, spec = thing.value["metadata"], thing.value.get("spec") or {}
    created = meta.get("creationTimestamp")
    if not created:
        raise _PodError("node", "time_ms", "has no creationTimestamp")
    time, line = time_ms(created), thing.number
    closed, taints = bool(spec.get("unschedulable")), taints_of(thing.value)
    # the annotation that keeps the node is stored as a label
    ban = rules.eviction_ban(meta)
    labels = {**(meta.get("labels") or {}), **({ban: "true"} if ban else {})}
    row = node_rows(thing.name, time, line, labels=labels, taints=taints, closed=closed)
    nodes = [row]
    if thing.event == "DELETED":
        nodes.append({**row, "time_ms": max(last_change_ms(thing), time + 1), "state": "gone"})
    elif (left := roster.together.left_ms.get(thing.key)) is not None:
        nodes.append({**row, "time_ms": max(left, time + 1), "state": "gone"})
    resources = [
        {
            "time_ms": time,
            "node": thing.name,
            "resource": resource(name),
            "amount": size,
            "unit": unit(resource(name)),
            "line": line,
        }
        for name, size in _sizes(thing).items()
        if isinstance(size, float)
    ]
    return {"node": nodes, "node_resource": resources}


def _sizes(thing: Thing) -> dict[str, float | str]:
    """The allocatable resources of a node, by the names of Kubernetes.

    A wrong quantity is replaced by the text of its fault.
    """
    sizes: dict[str, float | str] = {}
    for name, value in ((thing.value.get("status") or {}).get("allocatable") or {}).items():
        try:
            size = amount(str(value))
        except QuantityError as error:
            sizes[name] = str(error)
        else:
            sizes[name] = size if size >= 0 else f"is {value}, expected 0 or more"
    return sizes


def _bad_sizes(thing: Thing) -> Iterable[Broken]:
    """A reject for each wrong size of a node."""
    for name, size in _sizes(thing).items():
        if isinstance(size, str):
            yield Broken(
                table="node_resource",
                line=thing.number,
                column="amount",
                reason=f"of {name} {size}",
                text=thing.name,
            )


def _pod(thing: Thing, roster: Roster) -> Rows:
    pod, line = thing.value, thing.number
    meta, spec = pod["metadata"], pod["spec"]
    arrival, departure = _life(thing, roster)
    node = spec.get("nodeName") or None
    if node is not None and not roster.knows_node(node):
        raise _PodError("container", "node", f"is '{node}', which no file describes")
    container = roster.container(thing.name, thing.uid)
    of = template_of(spec)
    family = roster.family(meta, of)
    selector, not_held = _where(pod, of, family, roster)
    created = meta.get("creationTimestamp")
    row = {
        "time_ms": arrival,
        "container": container,
        "service": family.service or pod_service(meta, node),
        "node": node,
        "position": line,
        "departure_ms": departure,
        "priority": of.priority,
        "gang": family.gang,
        "gang_minimum": roster.groups.get(family.gang) if family.gang else None,
        "namespace": family.namespace,
        "labels": family.labels,
        "rules": family.rules,
        "host_ports": of.host_ports,
        "selector": selector,
        "tolerations": of.tolerations,
        "not_held": ", ".join(not_held) or None,
        "created_ms": time_ms(created) if created else None,
        "listed_ms": roster.listed_ms or None,
        # what a descheduler reads
        "eviction": family.eviction(pod, ended=departure is not None),
        "daemon": int(family.daemon),
        "line": line,
    }
    sizes = of.sizes(pod.get("status"))
    if sizes.wrong is not None:
        raise _PodError("container", *sizes.wrong)
    common = {"time_ms": arrival, "container": container, "line": line}
    return {
        "container": [row],
        "container_resource": [{**common, **one} for one in sizes.resources],
        "fixed_request": [{**common, **one} for one in sizes.fixed],
    }


def _where(
    pod: Mapping[str, Any], of: Template, family: Family, roster: Roster
) -> tuple[str | None, list[str]]:
    """The selector of a pod with the terms of its volumes, and the fields that no column holds."""
    selector = None if family.daemon else of.selector
    if not of.has_claims:
        return selector, family.not_held
    volumes, unknown = roster.volumes.of(pod)
    if volumes and not family.daemon:
        selector = rules.selector(pod["spec"], volumes)
    unknown = unknown and not family.daemon
    return selector, of.not_held(family.budgets, volumes_unknown=unknown)


def _life(thing: Thing, roster: Roster) -> tuple[int, int | None]:
    """Arrival and departure of a pod in ms; raises _PodError for a departure before the arrival."""
    arrival, departure = place_ms(thing.value), end_ms(thing, roster)
    left = roster.together.left_ms.get(thing.key)
    if departure is None and left is not None:
        departure = max(left, arrival)
    if departure is not None and departure < arrival:
        reason = f"is {departure}, before the arrival at {arrival}"
        raise _PodError("container", "departure_ms", reason)
    return arrival, departure
