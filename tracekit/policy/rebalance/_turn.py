"""One cycle of the descheduler: who is there, who may go, what was evicted, and the limits.

Source: descheduler @7d2b28bf pkg/descheduler/evictions (PodEvictor), node (NodeFit) and pod
(filters), pkg/framework/plugins/defaultevictor (DefaultEvictor). Plugins that deschedule see the
cluster as it is at the start, and so do all plugins that balance after them: what one of these
evicts still counts for the next one, which cannot evict it again.
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
from tracekit.policy.view.pods import Pods, PodText, plain_pods
from tracekit.policy.view.snapshot import Snapshot

#: Why a pod is not evicted: by a limit, of which the node's stops the node, and that of all stops
#: everything; or because it was evicted before.
Refusal = Literal["node", "namespace", "total", "gone"]
#: What upstream calls the limits, and what spares pods.
_LIMITS: Mapping[Refusal, str] = {
    "node": "maxNoOfPodsToEvictPerNode",
    "namespace": "maxNoOfPodsToEvictPerNamespace",
    "total": "maxNoOfPodsToEvictTotal",
}
_EVICTOR = "DefaultEvictor"


@dataclass(kw_only=True)
class Limits:
    """How many may go at a time: from a node, of a namespace, in all; None is no limit."""

    per_node: int | None = None
    per_namespace: int | None = None
    in_all: int | None = None

    def __post_init__(self) -> None:
        self._nodes: Counter[int] = Counter()
        self._namespaces: Counter[str] = Counter()

    def take(self, node: int, namespace: str) -> Refusal | None:
        """Count an eviction, or say which limit it would break."""
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
    """What all plugins of a cycle share; pods are positions in ``snapshot.placed``.

    Parameters
    ----------
    nodes : tuple of Requirement
        The nodes that the descheduler looks at.

    Attributes
    ----------
    pods : Pods
    text : int64, shape (placed,)
        The text of each in ``pods``.
    listed : bool, shape (nodes,)
        Nodes that are ready and looked at.
    gone : bool, shape (placed,)
        Who was evicted before the plugins began that have their turn now.
    requested : int64, shape (nodes, resources)
        Less what these requested.
    evicted : dict of int to str
        The strategy that evicted each, in the order of their eviction.
    stays : dict of (strategy, reason) to set of int
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
        self.stays: defaultdict[tuple[str, str], set[int]] = defaultdict(set)

    def each(self, said: Callable[[PodText], Any], dtype: Any = np.bool_) -> Any:
        """What is said of each pod, shape (placed,)."""
        return self.pods.each(said, dtype)[self.text]

    def settle(self) -> None:
        """Who was evicted so far is gone for those that follow."""
        new = np.array([at for at in self.evicted if not self.gone[at]], dtype=np.int64)
        placed = self.snapshot.placed
        np.subtract.at(self.requested, placed.node[new], placed.request[new])
        self.gone[new] = True

    @property
    def renewed(self) -> BoolArray:
        """Who came after what is written of it was written, shape (placed,)."""
        if self.snapshot.pods is None:
            return np.zeros(len(self.created_ms), dtype=np.bool_)
        recorded = self.pods.created_ms[self.snapshot.placed.index]
        return np.asarray(self.created_ms > recorded)

    def age_ms(self) -> IntArray:
        """How long ago each was asked for, shape (placed,)."""
        return np.asarray(self.snapshot.time_ms - self.created_ms)

    def decision(self) -> Decision:
        """Who was evicted, and who stays."""
        return Decision(
            evicted=np.array(list(self.evicted), dtype=np.int64),
            strategies=tuple(self.evicted.values()),
            stays={why: np.array(sorted(those)) for why, those in self.stays.items()},
        )


class Turn:
    """A plugin's turn in a cycle.

    Attributes
    ----------
    seen : bool, shape (placed,)
        Pods on listed nodes that the plugin is about.
    may : bool, shape (placed,)
        Those that the evictor lets go, whatever room there is.
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
        """Who the evictor lets go, shape (placed,); notes why others stay."""
        cycle, evictor, codes = self.cycle, self.evictor, {"": 0, "evictorFilter": 1}
        why = cycle.each(lambda pod: codes.setdefault(evictor.spares(pod), len(codes)), np.int64)
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
                cycle.stays[_EVICTOR, reason].update(np.asarray(those).tolist())
        return np.asarray(why == 0)

    def owners(self) -> IntArray:
        """A number for each pod's namespace and owners, shape (placed,)."""
        known: dict[Any, int] = {}
        found = self.cycle.each(
            lambda pod: known.setdefault((pod.namespace, pod.owners), len(known)), np.int64
        )
        return np.asarray(found)

    def fits(self, at: int) -> BoolArray:
        """The nodes that would take a pod, its own among them, shape (nodes,)."""
        cycle = self.cycle
        placed = cycle.snapshot.placed
        room = self._room(placed.request[at].tobytes()).copy()
        room[placed.node[at]] = True  # its own node has room for it
        return room & cycle.pods.open_to(int(cycle.text[at])) & ~self._kept_away(at)

    def _room_for(self, request: bytes) -> BoolArray:
        asked = np.frombuffer(request, dtype=np.int64)
        return np.asarray(((self._left >= asked) | (asked == 0)).all(axis=1))

    def _kept_away(self, at: int) -> BoolArray:
        """Nodes with the label that a pod keeps apart by, and with one on them that it means."""
        cycle, found = self.cycle, np.zeros(len(self._left), dtype=np.bool_)
        for rule in cycle.pods.texts[cycle.text[at]].rules:
            if rule.kind == "podAntiAffinity":
                others = cycle.pods.meeting(rule.whom)[cycle.text] & ~cycle.gone
                others[at] = False
                there = np.bincount(self.node[others], minlength=len(found)) > 0
                found |= there & (cycle.pods.domain(rule.by) >= 0)
        return found

    def fits_other(self, at: int, among: BoolArray) -> bool:
        """Whether one of some nodes but its own would take a pod."""
        found = self.fits(at) & among
        found[self.node[at]] = False
        return bool(found.any())

    def movable(self, at: int) -> bool:
        """Whether the evictor finds the pod another node, where it looks for one."""
        if not self.evictor.node_fit:
            return True
        pods = self.cycle.pods
        fits = self.fits_other(at, pods.ready & pods.selected(self.evictor.nodes) & ~self._lost)
        if not fits:
            self.cycle.stays[self.strategy, "nodeFit"].add(at)
        return fits

    @functools.cached_property
    def _lost(self) -> BoolArray:
        lost = self.cycle.snapshot.lost
        return np.zeros(len(self._left), dtype=np.bool_) if lost is None else lost

    def evict(self, at: int) -> Refusal | None:
        """Evict a pod, or say why it stays."""
        if at in self.cycle.evicted:
            return "gone"
        space = self.cycle.pods.texts[self.cycle.text[at]].namespace
        refused = self.cycle.limits.take(int(self.node[at]), space)
        if refused is None:
            self.cycle.evicted[at] = self.strategy
        else:
            self.cycle.stays[self.strategy, _LIMITS[refused]].add(at)
        return refused


NodeFit = Annotated[bool, About("Evict only what fits some other node by what it requests.")]


class OfCycle(RebalancePolicy):
    """Base of what evicts in cycles of the descheduler."""

    def cycle(self, snapshot: Snapshot) -> Cycle:
        """The cycle, once its plugins had their turns."""
        raise NotImplementedError

    def decide(self, snapshot: Snapshot) -> Decision:
        """What the cycle comes to."""
        return self.cycle(snapshot).decision()

    def evict(self, snapshot: Snapshot) -> IntArray:
        """The containers that the cycle evicts."""
        return self.decide(snapshot).evicted


@dataclass(frozen=True, kw_only=True)
class Plugin(OfCycle):
    """Base of the rebalancers that are plugins of the descheduler."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "placed"})

    node_fit: NodeFit = False

    def run(self, turn: Turn) -> None:
        """Evict, in a turn, whom the plugin chooses and the evictor finds a node for."""
        full: set[int] = set()
        for at in self.chosen(turn):
            if int(turn.node[at]) in full or not turn.movable(at):
                continue
            refused = turn.evict(at)
            if refused == "node":
                full.add(int(turn.node[at]))
            elif refused == "total":
                return

    def chosen(self, turn: Turn) -> list[int]:
        """The pods to evict, in their order, of those that may go."""
        raise NotImplementedError

    def cycle(self, snapshot: Snapshot) -> Cycle:
        """A cycle of the plugin alone, with the evictor's defaults."""
        cycle = Cycle(snapshot, Limits(per_node=getattr(self, "evictor_limit_node", None)))
        self.run(Turn(cycle, Evictor(node_fit=self.node_fit), type(self).__name__))
        return cycle


def _pods(snapshot: Snapshot) -> tuple[Pods, IntArray]:
    """The pods of a snapshot, and the text of each that is placed."""
    placed = snapshot.placed
    if snapshot.pods is not None:
        return snapshot.pods, snapshot.pods.of[placed.index]
    made = plain_pods(placed.service, placed.priority, placed.time_ms, len(snapshot.allocatable))
    return made, made.of


def by_rank(rank: FloatArray | IntArray, some: IntArray) -> list[int]:
    """Some positions in the order of their rank; equals stay in order."""
    found: list[int] = some[np.argsort(rank[some], kind="stable")].tolist()
    return found


def owned_by(pod: PodText, kinds: Texts) -> bool:
    """Whether a pod has an owner of one of these kinds."""
    return any(kind in kinds for kind, _ in pod.owners)


def states_of(
    pod: PodText, parts: Iterable[str], sorts: Iterable[str] = ("waiting", "terminated")
) -> set[str]:
    """The phase and reason of a pod, and why its containers of these parts wait or ended."""
    reasons = (pod.states.get(sort, {}).get(part, ()) for sort in sorts for part in parts)
    return {pod.phase, pod.reason, *(one for some in reasons for one in some)} - {""}
