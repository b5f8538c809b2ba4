"""Rows of nodes, containers and what they use out of time series."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from tracekit.errors import TracekitError
from tracekit.sources._cluster import Broken, Opened, Read
from tracekit.sources.own._impossible_use import possible
from tracekit.sources.own._kubernetes_requests import unit
from tracekit.sources.own._kubernetes_roster import Roster, roster
from tracekit.sources.own._kubernetes_shape import (
    CORDON_TAINT,
    Rows,
    batches,
    node_rows,
    service_of,
)
from tracekit.sources.own._prometheus_around import Outer, of_whole_pod
from tracekit.sources.own._prometheus_metrics import STATES, USES, Use
from tracekit.sources.own._prometheus_nobody import nobody, unknown_node
from tracekit.sources.own._prometheus_parts import NO_CONTAINER, Parts, node_of, pod_of
from tracekit.sources.own._prometheus_series import Series, read_series
from tracekit.sources.own._prometheus_state import NodeSeen, PodSeen
from tracekit.sources.own._prometheus_sums import Sums

#: kube-state-metrics writes labels with _ for every other character; these we need by name.
_LABELS = {
    "topology_kubernetes_io_zone": "topology.kubernetes.io/zone",
    "topology_kubernetes_io_region": "topology.kubernetes.io/region",
    "node_kubernetes_io_instance_type": "node.kubernetes.io/instance-type",
    "kubernetes_io_hostname": "kubernetes.io/hostname",
    "kubernetes_io_arch": "kubernetes.io/arch",
    "kubernetes_io_os": "kubernetes.io/os",
}

#: Clocks and scrapes may differ so much; use from before that is not the pod's.
_EARLY_MS = 300_000


def read_ranges(opened: Opened) -> Read:
    """Rows of answers to query_range."""
    return _read(opened, "range", scraped=False)


def read_exports(opened: Opened) -> Read:
    """Rows of VictoriaMetrics' export."""
    return _read(opened, "export", scraped=True)


def read_texts(opened: Opened) -> Read:
    """Rows of a dump of promtool, or of OpenMetrics."""
    return _read(opened, "text", scraped=True)


def _read(opened: Opened, word: str, *, scraped: bool) -> Read:
    known = roster(opened, word)
    sums = Sums(scraped=scraped)
    to = _To(known, opened.stored_sizes, sums, Outer())
    met: set[str] = set()
    others: set[str] = set()
    parts = Parts(opened, word, known)

    def wanted(name: str) -> bool:
        (met if name in USES or name in STATES else others).add(name)
        return name in USES or name in STATES

    for series in read_series(opened, word, wanted):
        if isinstance(series, Broken):
            yield series
        elif series.name in USES:
            use = USES[series.name]
            if not parts.elsewhere(series, use) and (wrong := _use(series, use, to)):
                yield wrong
    for series in parts.taken():
        _use(series, USES[series.name], to)
    if not parts.in_step():
        sums.put_on_grid()
    described = known.nodes or known.pods or known.state.nodes or known.state.pods
    if others and not met and not described:
        raise TracekitError(
            f"{opened.name}: holds no metric that says what nodes or containers are or use; it"
            f" holds {', '.join(sorted(others)[:5])}",
            hint=f"these are read: {', '.join(sorted({*USES, *STATES}))}",
        )
    sums.leave_out(to.outer.numbers(parts))
    yield from _astray(opened, known)
    yield from batches(_described(opened, known))
    nodes = {**opened.stored_sizes, **_sizes_of_nodes(known)}
    yield from possible(sums.rows(), opened.name, nodes)


def _sizes_of_nodes(known: Roster) -> dict[str, dict[str, float]]:
    """Cores and bytes of each node: what kubectl said, else the most that was recorded."""
    seen = {
        name: {what: max(value for _, value in values) for what, values in node.resources.items()}
        for name, node in known.state.nodes.items()
    }
    return {**seen, **known.sizes}


@dataclass
class _To:
    """Where use goes: who is known, nodes of files from before, sums, what may count twice."""

    known: Roster
    stored: Collection[str]
    sums: Sums
    outer: Outer


def _use(series: Series, use: Use, to: _To) -> Broken | None:
    """Add a series to the sums of what its container or node uses; says where it has none."""
    labels = series.labels
    if any(labels.get(label) in values for label, values in use.without):
        return None
    if use.fills == "node":
        node = node_of(labels, to.known)
        if not node:
            return nobody(series, "node, nodename or instance")
        called = to.known.node_called(node, to.stored)
        if not called:
            return unknown_node(series, node)
        to.sums.add(series, use, called, lambda _: called, lives=[])
        return None
    return _use_of_pod(series, use, to)


def _use_of_pod(series: Series, use: Use, to: _To) -> Broken | None:
    known, sums = to.known, to.sums
    labels = series.labels
    # the answer to a query of ours, or of a recording rule that has its name
    answered = not series.raw or series.name.endswith("_in_use")
    if not labels.get("pod"):
        # cgroups of the machine itself, and of what no cluster runs
        return nobody(series, "pod") if answered else None
    # cgroups around a pod's containers count the same again
    inner = labels.get("container") not in NO_CONTAINER
    # an answer that was summed up by pod has neither of these labels any more
    apart = not answered or "container" in labels or "id" in labels
    if apart and not use.sandbox and not inner and not (series.raw and of_whole_pod(series)):
        return None
    pod = pod_of(series)
    if use.sandbox and pod in known.state.on_host:
        return None
    starts, names = known.lives(pod)
    if starts and series.times_ms[-1] < starts[0] - _EARLY_MS:
        return Broken(
            table="container_amount",
            line=series.line,
            column="time_ms",
            reason=f"is {series.times_ms[-1]} at last, but the pod began at {starts[0]}: the use of"
            " another pod of its name, or times that count otherwise",
            text=pod,
        )
    if not use.sandbox:
        to.outer.note(series, sums.part(series, use, pod))
    uid = labels.get("uid", "")
    if uid or len(names) < 2:
        container = known.container(pod, uid)
        sums.add(series, use, pod, lambda _: container, lives=[])
    else:
        sums.add(series, use, pod, lambda at: names[max(at, 0)], lives=list(starts))
    return None


def _astray(opened: Opened, known: Roster) -> Iterator[Broken]:
    """Pods first seen in this file that ran on a node which no file describes."""
    for (pod, uid), seen in known.state.pods.items():
        mine = seen.path == opened.path and not known.printed(pod, uid)
        if mine and seen.node[1] and not known.knows_node(seen.node[1]):
            yield Broken(
                table="container",
                line=seen.line,
                column="node",
                reason=f"is '{seen.node[1]}', which no file describes",
                text=known.container(pod, uid),
            )


def _described(opened: Opened, known: Roster) -> Rows:
    """Nodes and pods first seen in this file, as far as kubectl did not print them."""
    rows: Rows = {"node": [], "node_resource": [], "container": [], "container_resource": []}
    for name, node in known.state.nodes.items():
        if node.path == opened.path and name not in known.nodes:
            rows["node"] += _nodes(name, node, known)
            rows["node_resource"] += _capacities(name, node)
    for (pod, uid), seen in known.state.pods.items():
        mine = seen.path == opened.path and not known.printed(pod, uid)
        if mine and (not seen.node[1] or known.knows_node(seen.node[1])):
            rows["container"].append(_pod(pod, uid, seen, known))
            rows["container_resource"] += _sizes(known.container(pod, uid), seen)
    return rows


def _nodes(name: str, node: NodeSeen, known: Roster) -> list[dict[str, Any]]:
    labels = {_LABELS.get(key, key): value for key, value in sorted(node.labels.items())}
    taints = [
        {"key": key, "value": value, "effect": effect}
        for (key, value, effect), last_ms in sorted(node.taints.items())
        if known.state.ended_ms(node) is not None or known.state.lasts(last_ms, node)
    ]
    rows = []
    for at, (time, closed) in enumerate(node.states()):
        marks = taints if closed else [one for one in taints if one["key"] != CORDON_TAINT]
        since = time if at else node.first_ms
        rows.append(node_rows(name, since, node.line, labels=labels, taints=marks, closed=closed))
    gone = known.state.ended_ms(node)
    return rows if gone is None else [*rows, {**rows[-1], "time_ms": gone, "state": "gone"}]


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


def _pod(pod: str, uid: str, seen: PodSeen, known: Roster) -> dict[str, Any]:
    space, _, name = pod.partition("/")
    kind, owner = seen.owner
    if kind == "ReplicaSet":
        made = known.state.owners.get((space, owner), ("", ""))
        kind, owner = made if made[1] and made[1] != "<none>" else (kind, owner)
    return {
        "time_ms": _arrival_ms(seen),
        "container": known.container(pod, uid),
        "service": service_of(space, kind, owner or name),
        "node": seen.node[1] or None,
        "position": None,
        "departure_ms": _departure_ms(seen, known),
        "daemon": int(kind in ("DaemonSet", "Node")),
        "line": seen.line,
    }


def _departure_ms(seen: PodSeen, known: Roster) -> int | None:
    """When it ended; what holds nothing has left, however long its object is reported."""
    over = None if seen.over_ms is None else max(seen.over_ms, _arrival_ms(seen))
    finished = over if seen.completed_ms is None else seen.completed_ms
    ends = (finished, known.state.ended_ms(seen))
    return min((one for one in ends if one is not None), default=None)


def _arrival_ms(seen: PodSeen) -> int:
    return seen.first_ms if seen.created_ms is None else seen.created_ms


def _sizes(container: str, seen: PodSeen) -> Iterator[dict[str, Any]]:
    """Requests and limits of all its containers together, by the scheduler's rule."""
    requests, limits = _added(seen.requests), _added(seen.limits)
    for one in seen.first_requests.values():
        for what, (_, value) in one.items():
            requests[what] = max(value, requests.get(what, 0.0))
    sized = [name for name in seen.requests if name]
    for what in list(limits):
        # a container without a limit may take what it gets
        if any(what not in seen.limits.get(name, {}) for name in sized):
            del limits[what]
    for what, extra in seen.overhead.items():
        requests[what] = requests.get(what, 0.0) + extra
    requests |= {what: value for what, (_, value) in seen.whole_requests.items()}
    limits |= {what: value for what, (_, value) in seen.whole_limits.items()}
    for what in {**requests, **limits}:
        yield {
            "time_ms": _arrival_ms(seen),
            "container": container,
            "resource": what,
            "request": requests.get(what),
            "limit": limits.get(what),
            "unit": unit(what),
            "line": seen.line,
        }


def _added(sizes: dict[str, dict[str, tuple[int, float]]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for one in sizes.values():
        for what, (_, value) in one.items():
            total[what] = total.get(what, 0.0) + value
    return total
