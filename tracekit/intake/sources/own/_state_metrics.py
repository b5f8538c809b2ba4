"""Reads the nodes and pods that kube-state-metrics recorded."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from tracekit.intake.sources._source import Broken, Opened
from tracekit.intake.sources.own._kubernetes.requests import resource
from tracekit.intake.sources.own._prometheus.metrics import STATES
from tracekit.intake.sources.own._prometheus.series import Series, read_series
from tracekit.intake.sources.own._prometheus.unused import clusters_of

#: A series that ends this number of steps before the last sample of all, or less, may go on.
_LATE_STEPS = 1.5
_LABEL = "label_"
#: Phases of a pod that has ended.
_OVER = ("Failed", "Succeeded")
#: The labels with the address of a node, by metric.
_ADDRESSES = {
    "kube_node_info": ("internal_ip",),
    "kube_node_status_addresses": ("address",),
    "kube_pod_info": ("host_ip",),
}
#: Each name of STATES contains one of these texts.
_PARTS = (b"kube_", b"node_uname_info")


@dataclass(kw_only=True)
class Seen:
    """The records of a node or pod: the file and line of the first, the first and last sample."""

    path: Path
    line: int
    first_ms: int
    last_ms: int

    def widen(self, series: Series) -> None:
        """Extend the span of ``first_ms`` to ``last_ms`` to the samples of a series."""
        self.first_ms = min(self.first_ms, int(series.times_ms[0]))
        self.last_ms = max(self.last_ms, int(series.times_ms[-1]))


_S = TypeVar("_S", bound=Seen)


@dataclass(kw_only=True)
class PodSeen(Seen):
    """The records of a pod; sizes are ``{container: {resource: (time_ms, value)}}``.

    ``first_requests`` are those of init containers, and ``sidecars`` the init containers that keep
    running. ``whole_`` sizes are those of the pod, as the scheduler counts them. ``over_ms`` is the
    first record as Failed or Succeeded.
    """

    node: tuple[int, str] = (-1, "")
    owner: tuple[str, str] = ("", "")
    created_ms: int | None = None
    scheduled_ms: int | None = None
    completed_ms: int | None = None
    over_ms: int | None = None
    requests: dict[str, dict[str, tuple[int, float]]] = field(default_factory=dict)
    limits: dict[str, dict[str, tuple[int, float]]] = field(default_factory=dict)
    first_requests: dict[str, dict[str, tuple[int, float]]] = field(default_factory=dict)
    sidecars: set[str] = field(default_factory=set)
    overhead: dict[str, float] = field(default_factory=dict)
    whole_requests: dict[str, tuple[int, float]] = field(default_factory=dict)
    whole_limits: dict[str, tuple[int, float]] = field(default_factory=dict)


@dataclass(kw_only=True)
class NodeSeen(Seen):
    """The records of a node; ``resources`` has the times and values of each resource.

    ``closed`` has pairs of a time in ms and whether the node is cordoned from then on.
    """

    labels: dict[str, str] = field(default_factory=dict)
    taints: dict[tuple[str, str, str], int] = field(default_factory=dict)
    closed: list[tuple[int, bool]] = field(default_factory=list)
    resources: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

    def states(self) -> list[tuple[int, bool]]:
        """Return times in ms, in order, and whether the node is cordoned from each time on."""
        changes: list[tuple[int, bool]] = []
        for time, closed in sorted(self.closed):
            if not changes or closed != changes[-1][1]:
                changes.append((time, closed))
        return changes or [(self.first_ms, False)]


@dataclass(kw_only=True)
class State:
    """All records of kube-state-metrics in the files of one ingest.

    ``pods`` is by ``namespace/name`` and uid; the uid is empty where none is recorded. ``on_host``
    has the pods on the network of their host, ``addresses`` the nodes of each address, ``clusters``
    the names of clusters, and ``instances`` the node of each exporter.
    """

    pods: dict[tuple[str, str], PodSeen] = field(default_factory=dict)
    nodes: dict[str, NodeSeen] = field(default_factory=dict)
    owners: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    instances: dict[str, str] = field(default_factory=dict)
    addresses: dict[str, set[str]] = field(default_factory=dict)
    clusters: set[str] = field(default_factory=set)
    on_host: set[str] = field(default_factory=set)
    end_ms: int = -1
    step_ms: int = 0

    def settle(self) -> None:
        """Merge the records without a uid into those of the pods with the name. Call this once."""
        by_pod: dict[str, list[str]] = {}
        for pod, uid in self.pods:
            by_pod.setdefault(pod, []).append(uid)
        for pod, uids in by_pod.items():
            if "" in uids and len(uids) > 1:
                stray = self.pods.pop((pod, ""))
                for uid in uids:
                    if uid:
                        _fill(self.pods[pod, uid], stray)

    def lives(self) -> Iterator[tuple[str, str, int]]:
        """Yield name, uid and start in ms of each pod."""
        for (pod, uid), seen in self.pods.items():
            yield pod, uid, seen.first_ms if seen.created_ms is None else seen.created_ms

    def over_ms(self, pod: str, uid: str) -> int | None:
        """Return the time in ms of a pod's first record as Failed or Succeeded; None if none."""
        seen = self.pods.get((pod, uid)) or self.pods.get((pod, ""))
        return None if seen is None else seen.over_ms

    def lasts(self, last_ms: int, seen: Seen) -> bool:
        """Return whether ``last_ms`` is at most 1.5 steps before the last record of ``seen``."""
        return last_ms >= seen.last_ms - int(_LATE_STEPS * self.step_ms)

    def ended_ms(self, seen: Seen) -> int | None:
        """Return the time of an object's last record, in ms; None if it existed until the end.

        That is so if its last record is at most 1.5 steps before the last of all records.
        """
        late = self.end_ms - int(_LATE_STEPS * self.step_ms)
        return seen.last_ms if seen.last_ms < late else None


def read_state(state: State, opened: Opened, word: str) -> None:
    """Add the records of a file to ``state``; skip broken series, which are rejected later."""
    for series in read_series(opened, word, STATES.__contains__, parts=_PARTS):
        if isinstance(series, Broken):
            continue
        state.clusters |= clusters_of(series)
        state.end_ms = max(state.end_ms, int(series.times_ms[-1]))
        if len(series.times_ms) > 1:
            step = int((series.times_ms[1:] - series.times_ms[:-1]).min())
            state.step_ms = min(step, state.step_ms or step)
        _Reader(state, opened.path, series).read()


class _Reader:
    """Adds one series to the records."""

    def __init__(self, state: State, path: Path, series: Series) -> None:
        self._state, self._path, self._series = state, path, series
        self._labels = series.labels
        self._last = int(series.times_ms[-1]), float(series.values[-1])

    def read(self) -> None:
        """Add the series to the node, pod or owner that it is of."""
        name = self._series.name
        for label in _ADDRESSES.get(name, ()):
            if self._labels.get(label) and self._labels.get("node"):
                nodes = self._state.addresses.setdefault(self._labels[label], set())
                nodes.add(self._labels["node"])
        if name == "kube_replicaset_owner":
            self._owner()
        elif name == "node_uname_info":
            self._state.instances[_host(self._labels)] = self._labels.get("nodename", "")
        elif name.startswith("kube_node_") and self._labels.get("node"):
            self._node(name, self._seen_node())
        elif name.startswith("kube_pod_") and self._labels.get("pod"):
            self._pod(name, self._seen_pod())

    def _owner(self) -> None:
        made = self._labels.get("namespace", ""), self._labels.get("replicaset", "")
        owner = self._labels.get("owner_kind", ""), self._labels.get("owner_name", "")
        self._state.owners[made] = owner

    def _node(self, name: str, node: NodeSeen) -> None:
        if name in _ADDRESSES:
            return
        if name == "kube_node_labels":
            node.labels |= {
                key.removeprefix(_LABEL): value
                for key, value in self._labels.items()
                if key.startswith(_LABEL)
            }
        elif name == "kube_node_spec_taint":
            taint = tuple(self._labels.get(key, "") for key in ("key", "value", "effect"))
            mark = taint[0], taint[1], taint[2]
            node.taints[mark] = max(self._last[0], node.taints.get(mark, 0))
        elif name == "kube_node_spec_unschedulable":
            closed = self._series.values > 0
            anew = np.flatnonzero(np.diff(closed, prepend=~closed[:1]))
            times = self._series.times_ms[anew].tolist()
            node.closed += zip(times, closed[anew].tolist(), strict=True)
        else:
            values = node.resources.setdefault(resource(self._labels.get("resource", "")), [])
            for time, value in zip(
                self._series.times_ms.tolist(), self._series.values.tolist(), strict=True
            ):
                if not values or (time > values[-1][0] and value != values[-1][1]):
                    values.append((time, value))

    def _pod(self, name: str, pod: PodSeen) -> None:
        labels = self._labels
        if name == "kube_pod_info":
            if labels.get("host_network") == "true":
                self._state.on_host.add(f"{labels.get('namespace') or 'default'}/{labels['pod']}")
            if labels.get("node"):
                pod.node = max(pod.node, (self._last[0], labels["node"]))
            if labels.get("created_by_name", "<none>") != "<none>":
                pod.owner = labels.get("created_by_kind", ""), labels["created_by_name"]
        elif name == "kube_pod_created":
            pod.created_ms = round(self._last[1] * 1000)
        elif name == "kube_pod_status_scheduled_time":
            pod.scheduled_ms = round(self._last[1] * 1000)
        elif name == "kube_pod_completion_time":
            pod.completed_ms = round(self._last[1] * 1000)
        elif name == "kube_pod_status_phase":
            self._phase(pod)
        else:
            self._size(name, pod)

    def _phase(self, pod: PodSeen) -> None:
        """Record the first sample of 1 in phase Failed or Succeeded."""
        over = self._series.times_ms[self._series.values > 0]
        if self._labels.get("phase") in _OVER and len(over):
            first = int(over[0])
            pod.over_ms = first if pod.over_ms is None else min(first, pod.over_ms)

    def _size(self, name: str, pod: PodSeen) -> None:
        """Record a request or limit; the last sample holds."""
        labels, what = self._labels, resource(self._labels.get("resource", ""))
        if name == "kube_pod_init_container_info":
            if labels.get("restart_policy") == "Always":
                pod.sidecars.add(labels.get("container", ""))
            return
        if name.startswith("kube_pod_overhead"):
            pod.overhead["cpu" if name.endswith("cores") else "memory"] = self._last[1]
            return
        if labels.get("node"):
            pod.node = max(pod.node, (self._last[0], labels["node"]))
        if name.startswith("kube_pod_resource_"):
            own = pod.whole_limits if name.endswith("limit") else pod.whole_requests
        elif name.startswith("kube_pod_init"):
            own = pod.first_requests.setdefault(labels.get("container", ""), {})
        else:
            sizes = pod.limits if name.endswith("limits") else pod.requests
            own = sizes.setdefault(labels.get("container", ""), {})
        own[what] = max(self._last, own.get(what, self._last))

    def _seen_node(self) -> NodeSeen:
        node = self._state.nodes.setdefault(self._labels["node"], self._begun(NodeSeen))
        node.widen(self._series)
        return node

    def _seen_pod(self) -> PodSeen:
        pod = f"{self._labels.get('namespace') or 'default'}/{self._labels['pod']}"
        key = pod, self._labels.get("uid", "")
        life = self._state.pods.setdefault(key, self._begun(PodSeen))
        life.widen(self._series)
        return life

    def _begun(self, kind: type[_S]) -> _S:
        times = self._series.times_ms
        return kind(
            path=self._path,
            line=self._series.line,
            first_ms=int(times[0]),
            last_ms=int(times[-1]),
        )


def _host(labels: Mapping[str, str]) -> str:
    instance = labels.get("instance", "")
    return instance.rpartition(":")[0] or instance


def _fill(pod: PodSeen, stray: PodSeen) -> None:
    pod.node = pod.node if pod.node[1] else stray.node
    pod.owner = pod.owner if pod.owner[1] else stray.owner
    if pod.over_ms is None and stray.over_ms is not None:
        # of several lives it was the one that was there at the time
        pod.over_ms = stray.over_ms if pod.first_ms <= stray.over_ms <= pod.last_ms else None
    pod.requests = pod.requests or stray.requests
    pod.limits = pod.limits or stray.limits
    pod.first_requests = pod.first_requests or stray.first_requests
    pod.sidecars |= stray.sidecars
    pod.overhead = pod.overhead or stray.overhead
    pod.whole_requests = pod.whole_requests or stray.whole_requests
    pod.whole_limits = pod.whole_limits or stray.whole_limits
