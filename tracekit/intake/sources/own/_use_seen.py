"""Makes rows of the nodes and pods that only kube-state-metrics recorded."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tracekit.base.constants import CORDON_TAINT
from tracekit.intake.sources._source import Broken, Opened
from tracekit.intake.sources.own._kubernetes.requests import unit
from tracekit.intake.sources.own._kubernetes.shape import (
    Rows,
    node_rows,
    over_time,
    service_of,
    static_service,
)
from tracekit.intake.sources.own._roster import Roster
from tracekit.intake.sources.own._state_metrics import NodeSeen, PodSeen

#: kube-state-metrics replaces most characters of labels by _; the original names of some labels.
_LABELS = {
    "topology_kubernetes_io_zone": "topology.kubernetes.io/zone",
    "topology_kubernetes_io_region": "topology.kubernetes.io/region",
    "node_kubernetes_io_instance_type": "node.kubernetes.io/instance-type",
    "kubernetes_io_hostname": "kubernetes.io/hostname",
    "kubernetes_io_arch": "kubernetes.io/arch",
    "kubernetes_io_os": "kubernetes.io/os",
}


def astray(opened: Opened, roster: Roster) -> Iterator[Broken]:
    """Yield a reject for each pod of this file whose node no file describes."""
    for (pod, uid), seen in roster.state.pods.items():
        mine = seen.path == opened.path and not roster.printed(pod, uid)
        if mine and seen.node[1] and not roster.knows_node(seen.node[1]):
            yield Broken(
                table="container",
                line=seen.line,
                column="node",
                reason=f"is '{seen.node[1]}', which no file describes",
                text=roster.container(pod, uid),
            )


def described(opened: Opened, roster: Roster) -> Rows:
    """Return the rows of nodes and pods that this file was the first to record, by its metrics.

    Nodes and pods that kubectl printed are left out.
    """
    tables = ("node", "node_resource", "container", "container_resource", "fixed_request")
    rows: Rows = {table: [] for table in tables}
    for name, node in roster.state.nodes.items():
        if node.path == opened.path and name not in roster.nodes:
            rows["node"] += _nodes(name, node, roster)
            rows["node_resource"] += _capacities(name, node)
    for (pod, uid), seen in roster.state.pods.items():
        mine = seen.path == opened.path and not roster.printed(pod, uid)
        if mine and (not seen.node[1] or roster.knows_node(seen.node[1])):
            rows["container"].append(_pod(pod, uid, seen, roster))
            rows["container_resource"] += _sizes(roster.container(pod, uid), seen)
            rows["fixed_request"] += _fixed(roster.container(pod, uid), seen)
    return rows


def _nodes(name: str, node: NodeSeen, roster: Roster) -> list[dict[str, Any]]:
    labels = {_LABELS.get(key, key): value for key, value in sorted(node.labels.items())}
    taints = [
        {"key": key, "value": value, "effect": effect}
        for (key, value, effect), last_ms in sorted(node.taints.items())
        if roster.state.ended_ms(node) is not None or roster.state.lasts(last_ms, node)
    ]
    rows = []
    for at, (time, closed) in enumerate(node.states()):
        marks = taints if closed else [one for one in taints if one["key"] != CORDON_TAINT]
        since = time if at else node.first_ms
        rows.append(node_rows(name, since, node.line, labels=labels, taints=marks, closed=closed))
    gone = roster.state.ended_ms(node)
    left = [] if gone is None else [{**rows[-1], "time_ms": gone, "state": "gone"}]
    return over_time([*rows, *left])


def _capacities(name: str, node: NodeSeen) -> list[dict[str, Any]]:
    return [
        {
            "time_ms": time,
            "node": name,
            "resource": what,
            "amount": value,
            "unit": unit(what),
            "line": node.line,
        }
        for what, values in node.resources.items()
        for time, value in values
    ]


def _pod(pod: str, uid: str, seen: PodSeen, roster: Roster) -> dict[str, Any]:
    space, _, name = pod.partition("/")
    kind, owner = seen.owner
    if kind == "ReplicaSet":
        made = roster.state.owners.get((space, owner), ("", ""))
        kind, owner = made if made[1] and made[1] != "<none>" else (kind, owner)
    return {
        "time_ms": _arrival_ms(seen),
        "container": roster.container(pod, uid),
        "service": static_service(space, name, owner)
        if kind == "Node"
        else service_of(space, kind, owner or name),
        "node": seen.node[1] or None,
        "position": None,
        "departure_ms": _departure_ms(seen, roster),
        "daemon": int(kind in ("DaemonSet", "Node")),
        "line": seen.line,
    }


def _departure_ms(seen: PodSeen, roster: Roster) -> int | None:
    """When a pod ended, in ms; None for a running pod.

    A failed or succeeded pod has ended, even where its object is still recorded.
    """
    over = None if seen.over_ms is None else max(seen.over_ms, _arrival_ms(seen))
    finished = over if seen.completed_ms is None else seen.completed_ms
    ends = (finished, roster.state.ended_ms(seen))
    return min((one for one in ends if one is not None), default=None)


def _arrival_ms(seen: PodSeen) -> int:
    """When a pod took its place, in ms; a pod without a node has the time of its creation."""
    created = seen.first_ms if seen.created_ms is None else seen.created_ms
    waited = seen.node[1] and seen.owner[0] != "Node"
    return max(created, seen.scheduled_ms or 0) if waited else created


@dataclass(frozen=True)
class _Parts:
    """The parts of a pod's request, by resource.

    ``running`` are containers and sidecars, ``init`` is the peak of the init containers, and
    ``request`` the whole by the rule of the scheduler.
    """

    running: dict[str, float]
    init: dict[str, float]
    overhead: dict[str, float]
    request: dict[str, float]


def _parts(seen: PodSeen) -> _Parts:
    """The parts of a pod's request.

    The order of init containers is not recorded, so each counts with all sidecars. The scheduler's
    own metric holds for the request. A negative part becomes the request, which is then a reject.
    """
    beside = {name: one for name, one in seen.first_requests.items() if name in seen.sidecars}
    first = [one for name, one in seen.first_requests.items() if name not in seen.sidecars]
    sidecars = _added(beside)
    running = _added({**seen.requests, **{f"init {name}": one for name, one in beside.items()}})
    init: dict[str, float] = {}
    for sizes in first:
        for what, (_, value) in sizes.items():
            init[what] = max(value + sidecars.get(what, 0.0), init.get(what, 0.0))
    request = {
        what: max(running.get(what, 0.0), init.get(what, 0.0)) + seen.overhead.get(what, 0.0)
        for what in {**running, **init, **seen.overhead}
    }
    request |= {what: value for what, (_, value) in seen.whole_requests.items()}
    request |= {what: least for what, least in _least(seen).items() if least < 0}
    room = {what: one - seen.overhead.get(what, 0.0) for what, one in request.items()}
    init = {what: min(one, room[what]) for what, one in init.items()}
    return _Parts(running, init, seen.overhead, request)


def _least(seen: PodSeen) -> dict[str, float]:
    """The smallest amount of any part of a pod, by resource."""
    least = dict(seen.overhead)
    for one in (*seen.requests.values(), *seen.first_requests.values()):
        for what, (_, value) in one.items():
            least[what] = min(value, least.get(what, value))
    return least


def _limits(seen: PodSeen) -> dict[str, float]:
    """The sum of the containers' limits, by resource.

    A pod with sidecars has none, as the limits of sidecars are not recorded.
    """
    limits = _added(seen.limits) if not seen.sidecars else {}
    sized = [name for name in seen.requests if name]
    for what in list(limits):
        # a container without a limit makes the pod unlimited
        if any(what not in seen.limits.get(name, {}) for name in sized):
            del limits[what]
    return limits | {what: value for what, (_, value) in seen.whole_limits.items()}


def _sizes(container: str, seen: PodSeen) -> Iterator[dict[str, Any]]:
    """Yield the requests and limits of a whole pod, by the rule of the scheduler."""
    requests, limits = _parts(seen).request, _limits(seen)
    for what in {**requests, **limits}:
        yield {
            **_place(container, what, seen),
            "request": requests.get(what),
            "limit": limits.get(what),
        }


def _fixed(container: str, seen: PodSeen) -> Iterator[dict[str, Any]]:
    """Yield the parts of a pod's request that a replay must not change."""
    parts, limits = _parts(seen), _limits(seen)
    for what in {**parts.init, **parts.overhead}:
        if parts.request[what] < 0:
            continue
        yield {
            **_place(container, what, seen),
            "init": parts.init.get(what),
            "overhead": parts.overhead.get(what),
            "own_request": parts.running.get(what),
            "own_limit": limits.get(what),
        }


def _place(container: str, what: str, seen: PodSeen) -> dict[str, Any]:
    return {
        "time_ms": _arrival_ms(seen),
        "container": container,
        "resource": what,
        "unit": unit(what),
        "line": seen.line,
    }


def _added(sizes: dict[str, dict[str, tuple[int, float]]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for one in sizes.values():
        for what, (_, value) in one.items():
            total[what] = total.get(what, 0.0) + value
    return total
