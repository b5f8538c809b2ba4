"""One cycle of the descheduler: its pods, the turns of its plugins, and the limits of evictions.

Source: descheduler @7d2b28bf pkg/descheduler/evictions (PodEvictor), node (NodeFit) and pod
(filters), pkg/framework/plugins/defaultevictor (DefaultEvictor). All plugins that deschedule see
the cluster at the start of the cycle. All plugins that balance see the cluster after those
evictions. A pod that one plugin evicts still counts for the next plugin of the same kind, which
cannot evict it again.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.cluster.constraints.labels import Requirement
from tracekit.policy.placement import Reads
from tracekit.policy.rebalance import Decision, RebalancePolicy
from tracekit.policy.rebalance._evictor import Evictor, Scope, Texts
from tracekit.policy.view.pods import PodRecord, Pods, plain_pods
from tracekit.policy.view.snapshot import Snapshot

#: Why an eviction is refused: by a limit, or because the pod was evicted before. The limit of a
#: node ends the evictions from that node, the total limit all evictions.
Refusal = Literal["node", "namespace", "total", "gone"]
#: Upstream's names of the limits, and of the evictor.
_LIMITS: Mapping[Refusal, str] = {
    "node": "maxNoOfPodsToEvictPerNode",
    "namespace": "maxNoOfPodsToEvictPerNamespace",
    "total": "maxNoOfPodsToEvictTotal",
}
_EVICTOR = "DefaultEvictor"


@dataclass(kw_only=True)
class Limits:
    """Limits on the evictions of one cycle, and the count so far; None stands for no limit."""

    per_node: int | None = None
    per_namespace: int | None = None
    in_all: int | None = None

    def __post_init__(self) -> None:
        self._nodes: Counter[int] = Counter()
        self._namespaces: Counter[str] = Counter()

    def take(self, node: int, namespace: str) -> Refusal | None:
        """Count an eviction and return None, or return the limit that refuses it."""
        if self.in_all is not None and self._nodes.total() >= self.in_all:
            return "total"
        if self.per_node is not None and self._nodes[node] >= self.per_node:
            return "node"
        if self.per_namespace is not None and self._namespaces[namespace] >= self.per_namespace:
            return "namespace"
        self._nodes[node] += 1
        self._namespaces[namespace] += 1
        return None


class Cycle:
    """The state of one descheduling cycle; pods are positions in ``snapshot.placed``.

    Parameters
    ----------
    nodes : tuple of Requirement
        Requirements on the labels of the nodes that the descheduler considers.

    Attributes
    ----------
    pods : Pods
    text : int64, shape (placed,)
        The position of each pod's record in ``pods.texts``.
    listed : bool, shape (nodes,)
        Whether the descheduler considers the node: it is ready and meets ``nodes``.
    gone : bool, shape (placed,)
        Pods evicted before the last ``settle``, which plugins no longer see.
    requested : int64, shape (nodes, resources)
        Sums of requests without the pods that are gone.
    evicted : dict of int to str
        The plugin that evicted each pod, in the order of eviction.
    staying : dict of (strategy, reason) to set of int
        Pods that a plugin or the evictor considered and left on their nodes.
    """

    def __init__(
        self, snapshot: Snapshot, limits: Limits, nodes: tuple[Requirement, ...] = ()
    ) -> None:
        placed = snapshot.placed
        self.snapshot, self.limits = snapshot, limits
        self.pods, self.text = _pods(snapshot)
        self.created_ms = placed.time_ms if placed.created_ms is None else placed.created_ms
        self.listed = self.pods.ready & self.pods.selected(nodes)
        if snapshot.lost is not None:
            self.listed = self.listed & ~snapshot.lost
        self.gone = np.zeros(len(placed.node), dtype=np.bool_)
        self.requested = snapshot.requested.copy()
        self.evicted: dict[int, str] = {}
        self.staying: defaultdict[tuple[str, str], set[int]] = defaultdict(set)

    def each(self, value: Callable[[PodRecord], Any], dtype: Any = np.bool_) -> Any:
        """Return ``value(record)`` for the record of each pod, shape (placed,)."""
        return self.pods.each(value, dtype)[self.text]

    def settle(self) -> None:
        """Mark the pods evicted so far as ``gone`` and take their requests off their nodes."""
        new = np.array([at for at in self.evicted if not self.gone[at]], dtype=np.int64)
        placed = self.snapshot.placed
        np.subtract.at(self.requested, placed.node[new], placed.request[new])
        self.gone[new] = True

    @property
    def renewed(self) -> BoolArray:
        """Whether each pod was created after its recorded fields were read, shape (placed,)."""
        if self.snapshot.pods is None:
            return np.zeros(len(self.created_ms), dtype=np.bool_)
        recorded = self.pods.created_ms[self.snapshot.placed.index]
        return np.asarray(self.created_ms > recorded)

    def age_ms(self) -> IntArray:
        """Return the time from each pod's creation to the snapshot, shape (placed,)."""
        return np.asarray(self.snapshot.time_ms - self.created_ms)

    def decision(self) -> Decision:
        """Return the evicted pods and the pods that stay as a ``Decision``."""
        return Decision(
            evicted=np.array(list(self.evicted), dtype=np.int64),
            strategies=tuple(self.evicted.values()),
            staying={why: np.array(sorted(those)) for why, those in self.staying.items()},
        )


class PluginRun:
    """The run of one plugin in a cycle, through which the plugin tests and evicts pods.

    Attributes
    ----------
    seen : bool, shape (placed,)
        Pods that the plugin considers: on listed nodes, in its scope and not gone.
    may : bool, shape (placed,)
        Pods among ``seen`` that the evictor's settings let be evicted; ``nodeFit`` is not tested.
    """

    def __init__(
        self, cycle: Cycle, evictor: Evictor, strategy: str, scope: Scope | None = None
    ) -> None:
        self.cycle, self.evictor, scope = cycle, evictor, scope or Scope()
        self.strategy = strategy
        placed = cycle.snapshot.placed
        self.node, self.seen = placed.node, ~cycle.gone & cycle.listed[placed.node]
        self.seen &= cycle.each(scope.holds) & cycle.pods.wearing(scope.labels)[cycle.text]
        self.may = self.seen & self._let_go()
        self._left = cycle.snapshot.allocatable - cycle.requested
        self._room = functools.cache(self._room_for)

    def _let_go(self) -> BoolArray:
        """The pods that the evictor lets go, shape (placed,); notes why the others stay."""
        cycle, evictor, codes = self.cycle, self.evictor, {"": 0, "evictorFilter": 1}
        why = cycle.each(
            lambda pod: codes.setdefault(evictor.protection_of(pod), len(codes)), np.int64
        )
        meets = cycle.pods.wearing(evictor.labels)[cycle.text]
        meets &= cycle.age_ms() >= evictor.least_age_ms
        if evictor.least_replicas > 1:
            count = Counter(self.owners()[~cycle.gone].tolist())
            few = [count[owner] < evictor.least_replicas for owner in self.owners().tolist()]
            meets &= ~(np.array(few, dtype=np.bool_) & cycle.each(lambda pod: len(pod.owners) == 1))
        marked = cycle.each(lambda pod: "evict" in pod.marks)
        why[(why == 0) & ~(meets | marked)] = codes["evictorFilter"]
        placed = cycle.snapshot.placed
        if placed.daemon is not None:
            why[placed.daemon] = codes.setdefault("DaemonSetPods", len(codes))
        if placed.barred is not None:
            # the evictor lets such a pod go, and the API server refuses its eviction
            why[(why == 0) & placed.barred] = codes.setdefault("PodDisruptionBudget", len(codes))
        for reason, code in codes.items():
            those = np.flatnonzero(self.seen & (why == code)) if code else ()
            if len(those):
                cycle.staying[_EVICTOR, reason].update(np.asarray(those).tolist())
        return np.asarray(why == 0)

    def owners(self) -> IntArray:
        """Return a number for each pod, equal for equal namespace and owners, shape (placed,)."""
        numbers: dict[Any, int] = {}
        owners = self.cycle.each(
            lambda pod: numbers.setdefault((pod.namespace, pod.owners), len(numbers)), np.int64
        )
        return np.asarray(owners)

    def fits(self, at: int) -> BoolArray:
        """Return which nodes can run the pod at position ``at``, shape (nodes,).

        They have room for its requests, and cordons, selectors, taints and its own anti-affinity
        admit it. The pod's own node counts as a node with room.
        """
        cycle = self.cycle
        placed = cycle.snapshot.placed
        room = self._room(placed.request[at].tobytes()).copy()
        room[placed.node[at]] = True  # its own node has room for it
        return room & cycle.pods.open_to(int(cycle.text[at])) & ~self._kept_away(at)

    def _room_for(self, request: bytes) -> BoolArray:
        amounts = np.frombuffer(request, dtype=np.int64)
        return np.asarray(((self._left >= amounts) | (amounts == 0)).all(axis=1))

    def _kept_away(self, at: int) -> BoolArray:
        """Nodes with a topology label of the pod's anti-affinity that run a pod it excludes."""
        cycle, away = self.cycle, np.zeros(len(self._left), dtype=np.bool_)
        for rule in cycle.pods.texts[cycle.text[at]].rules:
            if rule.kind == "podAntiAffinity":
                others = cycle.pods.meeting(rule.whom)[cycle.text] & ~cycle.gone
                others[at] = False
                beside = np.bincount(self.node[others], minlength=len(away)) > 0
                away |= beside & (cycle.pods.domain(rule.by) >= 0)
        return away

    def fits_other(self, at: int, among: BoolArray) -> bool:
        """Return whether a pod fits one of the nodes ``among``, shape (nodes,), besides its own."""
        fits = self.fits(at) & among
        fits[self.node[at]] = False
        return bool(fits.any())

    def movable(self, at: int) -> bool:
        """Return whether a pod fits another node; if not, note it in ``cycle.staying``.

        The result is always true if the evictor's ``nodeFit`` is off.
        """
        if not self.evictor.node_fit:
            return True
        pods = self.cycle.pods
        fits = self.fits_other(at, pods.ready & pods.selected(self.evictor.nodes) & ~self._lost)
        if not fits:
            self.cycle.staying[self.strategy, "nodeFit"].add(at)
        return fits

    @functools.cached_property
    def _lost(self) -> BoolArray:
        lost = self.cycle.snapshot.lost
        return np.zeros(len(self._left), dtype=np.bool_) if lost is None else lost

    def evict(self, at: int) -> Refusal | None:
        """Evict a pod and return None, or return why the eviction is refused."""
        if at in self.cycle.evicted:
            return "gone"
        space = self.cycle.pods.texts[self.cycle.text[at]].namespace
        refused = self.cycle.limits.take(int(self.node[at]), space)
        if refused is None:
            self.cycle.evicted[at] = self.strategy
        else:
            self.cycle.staying[self.strategy, _LIMITS[refused]].add(at)
        return refused


NodeFit = Annotated[bool, About("Evict only pods whose requests fit another node.")]


class OfCycle(RebalancePolicy):
    """Base of rebalance policies that run plugins of the descheduler in cycles."""

    def cycle(self, snapshot: Snapshot) -> Cycle:
        """Run the plugins on a snapshot, and return the state of the cycle."""
        raise NotImplementedError

    def decide(self, snapshot: Snapshot) -> Decision:
        """Run a cycle; return the pods it evicts, and the pods that stay with the reason."""
        return self.cycle(snapshot).decision()

    def evict(self, snapshot: Snapshot) -> IntArray:
        """Run a cycle; return the positions of the pods it evicts, in order."""
        return self.decide(snapshot).evicted


@dataclass(frozen=True, kw_only=True)
class Plugin(OfCycle):
    """Base of rebalance policies that are one plugin of the descheduler each."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "placed"})

    node_fit: NodeFit = False

    def run(self, turn: PluginRun) -> None:
        """Evict the pods of ``chosen`` in order, as far as they are movable and limits allow."""
        full: set[int] = set()
        for at in self.chosen(turn):
            if int(turn.node[at]) in full or not turn.movable(at):
                continue
            refused = turn.evict(at)
            if refused == "node":
                full.add(int(turn.node[at]))
            elif refused == "total":
                return

    def chosen(self, turn: PluginRun) -> list[int]:
        """Return positions of the pods to evict, in order; all are in ``turn.may``."""
        raise NotImplementedError

    def cycle(self, snapshot: Snapshot) -> Cycle:
        """Run this plugin alone, with the default evictor, and return the state of the cycle."""
        cycle = Cycle(snapshot, Limits(per_node=getattr(self, "evictor_limit_node", None)))
        self.run(PluginRun(cycle, Evictor(node_fit=self.node_fit), type(self).__name__))
        return cycle


def _pods(snapshot: Snapshot) -> tuple[Pods, IntArray]:
    """The pods of a snapshot, and the text of each placed pod."""
    placed = snapshot.placed
    if snapshot.pods is not None:
        return snapshot.pods, snapshot.pods.of[placed.index]
    made = plain_pods(placed.service, placed.priority, placed.time_ms, len(snapshot.allocatable))
    return made, made.of


def by_rank(rank: FloatArray | IntArray, some: IntArray) -> list[int]:
    """Return the positions ``some`` sorted by ``rank[position]``; ties keep their order."""
    ordered: list[int] = some[np.argsort(rank[some], kind="stable")].tolist()
    return ordered


def owned_by(pod: PodRecord, kinds: Texts) -> bool:
    """Return whether the kind of an owner of the pod, such as DaemonSet, is in ``kinds``."""
    return any(kind in kinds for kind, _ in pod.owners)


def states_of(
    pod: PodRecord, parts: Iterable[str], sorts: Iterable[str] = ("waiting", "terminated")
) -> set[str]:
    """Return a pod's phase and reason, and the reasons of its containers' states.

    ``parts`` selects kinds of containers, such as init, and ``sorts`` the states.
    """
    reasons = (pod.states.get(sort, {}).get(part, ()) for sort in sorts for part in parts)
    return {pod.phase, pod.reason, *(one for some in reasons for one in some)} - {""}
