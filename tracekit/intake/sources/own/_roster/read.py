"""Reads nodes and containers out of what kubectl printed."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from tracekit.intake.sources._cluster import Broken, Opened, Read
from tracekit.intake.sources.own._json_items import Cut
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
from tracekit.intake.sources.own._roster.roster import Roster, end_ms, place_ms, roster

_BATCH = 1 << 17


class _PodError(ValueError):
    """What is wrong with an object, and in which column."""

    def __init__(self, table: str, column: str, reason: str) -> None:
        super().__init__(reason)
        self.table, self.column = table, column


def read_objects(opened: Opened) -> Read:
    """Nodes and pods of a file, each once; in a watch log pods as they were at last."""
    known = roster(opened, "objects")
    if not (known.names or known.nodes or known.state.nodes or opened.stored_sizes):
        check_not_empty(opened)
    other: dict[Key, Thing] = {}
    yield from rows_of_things(_own(opened, known, other), known)
    for thing in other.values():
        yield _superseded(thing, known.together.differs[opened.name, thing.key])


def _own(opened: Opened, known: Roster, other: dict[Key, Thing]) -> Iterable[Thing | Cut]:
    """What is taken from this file; what a later one holds with another size is put aside."""
    for thing in things(opened):
        if isinstance(thing, Cut) or known.together.taken_from(thing.key, opened.name):
            yield thing
        elif (opened.name, thing.key) in known.together.differs:
            other[thing.key] = thing


def _superseded(thing: Thing, said: str) -> Broken:
    return Broken(
        table="container_resource",
        line=thing.number,
        column="request",
        reason=f"{said}, expected one size: the later file counts",
        text=thing.name,
    )


def rows_of_things(some: Iterable[Thing | Cut], known: Roster) -> Read:
    """Nodes and pods, each once; pods of events as they were at last, nodes with all changes."""
    seen: dict[Key, tuple[int, str]] = {}
    last: dict[tuple[str, str], Rows] = {}
    rows: Rows = {}
    for thing in some:
        found = _found(thing, known, seen)
        if isinstance(found, Broken):
            yield found
            continue
        if isinstance(thing, Thing) and thing.kind == "Node":
            yield from _bad_sizes(thing)
        if isinstance(thing, Thing) and thing.event is not None:
            before = last.get(thing.key) if thing.kind == "Node" else None
            last[thing.key] = found if before is None else changed(before, found, thing)
        else:
            _extend(rows, found)
        if sum(map(len, rows.values())) > _BATCH:
            yield from batches(rows)
            rows = {}
    for found in last.values():
        _extend(rows, found)
    yield from batches(rows)


def _found(thing: Thing | Cut, known: Roster, seen: dict[Key, tuple[int, str]]) -> Rows | Broken:
    """The rows of a thing, or what is wrong with it; ``seen``: where and as what it came first."""
    if isinstance(thing, Cut):
        return Broken(table="container", line=thing.number, reason=thing.reason, text=thing.text)
    if thing.kind not in ("Node", "Pod"):
        return {}
    # events tell of one thing many times, by one name
    number, name = seen.setdefault(thing.key, (thing.number, thing.name))
    if name != thing.name:
        return _twice(thing, number)
    if thing.event is None:
        # what is listed again gives its rows again, and of those the first count
        thing = thing if thing.number == number else replace(thing, number=number)
    rows = _rows(thing, known)
    before = known.together.earlier.get(thing.key) if thing.event is None else None
    if isinstance(rows, Broken) or thing.kind == "Pod":
        return rows
    earlier = [replace(one, number=thing.number) for one in before or ()]
    known_ones = ((one, _rows(one, known)) for one in earlier)
    states = [(one, state) for one, state in known_ones if not isinstance(state, Broken)]
    (first, begun), *later = [*states, (thing, rows)]
    # a list tells of the time before it, too
    begun = dated(begun, first) if known.series else begun
    return over_lists([(first, begun), *later]) if later else begun


def _extend(rows: Rows, found: Rows) -> None:
    """Add the rows of one thing."""
    for table, more in found.items():
        rows.setdefault(table, []).extend(over_time(more) if table == "node" else more)


def _twice(thing: Thing, first: int) -> Broken:
    table, column = ("node", "node") if thing.kind == "Node" else ("container", "uid")
    said = f"is '{thing.key[1]}', the {column} of object {first}, expected its own"
    return Broken(table=table, line=thing.number, column=column, reason=said, text=thing.name)


def _rows(thing: Thing, known: Roster) -> Rows | Broken:
    make: Callable[[Thing, Roster], Rows] = _node if thing.kind == "Node" else _pod
    table = "node" if thing.kind == "Node" else "container"
    column = None
    try:
        return make(thing, known)
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


def _node(thing: Thing, known: Roster) -> Rows:
    meta, spec = thing.value["metadata"], thing.value.get("spec") or {}
    created = meta.get("creationTimestamp")
    if not created:
        raise _PodError("node", "time_ms", "has no creationTimestamp")
    time, line = time_ms(created), thing.number
    closed, taints = bool(spec.get("unschedulable")), taints_of(thing.value)
    # what keeps the node is kept beside its labels
    keeps = rules.stays(meta)
    labels = {**(meta.get("labels") or {}), **({keeps: "true"} if keeps else {})}
    row = node_rows(thing.name, time, line, labels=labels, taints=taints, closed=closed)
    nodes = [row]
    if thing.event == "DELETED":
        nodes.append({**row, "time_ms": max(last_change_ms(thing), time + 1), "state": "gone"})
    elif (left := known.together.left_ms.get(thing.key)) is not None:
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
    """What pods may use of a node, by Kubernetes' names; what is wrong with it where it is none."""
    sizes: dict[str, float | str] = {}
    for name, value in ((thing.value.get("status") or {}).get("allocatable") or {}).items():
        try:
            found = amount(str(value))
        except QuantityError as error:
            sizes[name] = str(error)
        else:
            sizes[name] = found if found >= 0 else f"is {value}, expected 0 or more"
    return sizes


def _bad_sizes(thing: Thing) -> Iterable[Broken]:
    """The sizes of a node that cannot be used: without them the node takes nothing."""
    for name, size in _sizes(thing).items():
        if isinstance(size, str):
            yield Broken(
                table="node_resource",
                line=thing.number,
                column="amount",
                reason=f"of {name} {size}",
                text=thing.name,
            )


def _pod(thing: Thing, known: Roster) -> Rows:
    pod, line = thing.value, thing.number
    meta, spec = pod["metadata"], pod["spec"]
    arrival, departure = _life(thing, known)
    node = spec.get("nodeName") or None
    if node is not None and not known.knows_node(node):
        raise _PodError("container", "node", f"is '{node}', which no file describes")
    container = known.container(thing.name, thing.uid)
    of = template_of(spec)
    family = known.family(meta, of)
    selector, not_held = _where(pod, of, family, known)
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
        "gang_minimum": known.groups.get(family.gang) if family.gang else None,
        "namespace": family.namespace,
        "labels": family.labels,
        "rules": family.rules,
        "host_ports": of.host_ports,
        "selector": selector,
        "tolerations": of.tolerations,
        "not_held": ", ".join(not_held) or None,
        "created_ms": time_ms(created) if created else None,
        "listed_ms": known.listed_ms or None,
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
        "container_resource": [{**common, **one} for one in sizes.asked],
        "fixed_request": [{**common, **one} for one in sizes.fixed],
    }


def _where(
    pod: Mapping[str, Any], of: Template, family: Family, known: Roster
) -> tuple[str | None, list[str]]:
    """The selector of a pod with the places of its volumes, and what the store cannot hold."""
    selector = None if family.daemon else of.selector
    if not of.has_claims:
        return selector, family.not_held
    volumes, unknown = known.volumes.of(pod)
    if volumes and not family.daemon:
        selector = rules.selector(pod["spec"], volumes)
    unknown = unknown and not family.daemon
    return selector, of.not_held(family.budgets, volumes_unknown=unknown)


def _life(thing: Thing, known: Roster) -> tuple[int, int | None]:
    """When a pod took its place and gave it back; raises _PodError where these cannot be."""
    arrival, departure = place_ms(thing.value), end_ms(thing, known)
    left = known.together.left_ms.get(thing.key)
    if departure is None and left is not None:
        departure = max(left, arrival)
    if departure is not None and departure < arrival:
        said = f"is {departure}, before the arrival at {arrival}"
        raise _PodError("container", "departure_ms", said)
    return arrival, departure
