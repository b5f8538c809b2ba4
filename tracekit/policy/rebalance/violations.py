"""Evictions of pods that violate affinity, taints or the spread over domains."""

import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.parameters import About
from tracekit.cluster.constraints.among import ContainerSelection, Rule
from tracekit.cluster.constraints.labels import CLOSING, Taint
from tracekit.cluster.workload import UNKNOWN
from tracekit.policy.placement import Reads
from tracekit.policy.rebalance._evictor import Texts
from tracekit.policy.rebalance._turn import Plugin, PluginRun, by_rank
from tracekit.policy.rebalance._utilization import turns_of


@dataclass(frozen=True, kw_only=True)
class RemovePodsViolatingNodeAffinity(Plugin):
    """Evict pods whose node violates their node affinity, if a listed node can run them.

    First come pods whose required affinity is violated, node by node. Pods whose preferred affinity
    another node meets better come next, node by node.
    """

    source: ClassVar[str] = (
        "descheduler @7d2b28bf removepodsviolatingnodeaffinity (RemovePodsViolatingNodeAffinity)"
    )

    required: Annotated[bool, About("Whether required affinity counts.")] = True
    preferred: Annotated[bool, About("Whether preferred affinity counts.")] = False

    def chosen(self, turn: PluginRun) -> list[int]:
        """Return pods with a violated required affinity, then pods that prefer another node."""
        pods = self._where(turn, self._misplaced) if self.required else []
        pods += self._where(turn, self._better_off) if self.preferred else []
        return list(dict.fromkeys(pods))

    def _where(self, turn: PluginRun, wrong: Callable[[PluginRun, int], bool]) -> list[int]:
        ordered = by_rank(turn.node, np.flatnonzero(turn.may))
        listed = turn.cycle.listed
        return [at for at in ordered if wrong(turn, at) and bool((turn.fits(at) & listed).any())]

    def _misplaced(self, turn: PluginRun, at: int) -> bool:
        pods, text = turn.cycle.pods, int(turn.cycle.text[at])
        return pods.texts[text].requires and not pods.suits(text)[turn.node[at]]

    def _better_off(self, turn: PluginRun, at: int) -> bool:
        pods, text = turn.cycle.pods, int(turn.cycle.text[at])
        weight = pods.wishes(text)
        return bool(weight[turn.cycle.listed].max(initial=0) > weight[turn.node[at]])


@dataclass(frozen=True, kw_only=True)
class RemovePodsViolatingNodeTaints(Plugin):
    """Evict pods from nodes with a taint NoSchedule that they do not tolerate, node by node."""

    source: ClassVar[str] = (
        "descheduler @7d2b28bf removepodsviolatingnodetaints (RemovePodsViolatingNodeTaints)"
    )

    soft: Annotated[bool, About("Whether taints PreferNoSchedule count, too.")] = False
    taints: Annotated[Texts, About("Taints that count, key or key=value; none: all.")] = ()
    not_taints: Annotated[Texts, About("Taints that do not count, key or key=value.")] = ()

    def chosen(self, turn: PluginRun) -> list[int]:
        """Return the pods to evict, node by node."""
        cycle = turn.cycle
        texts = np.unique(cycle.text)
        tolerated = np.ones((len(cycle.pods.texts), len(cycle.listed)), dtype=np.bool_)
        for text in texts.tolist():
            tolerated[text] = cycle.pods.tolerates(text, self._counts)
        some = np.flatnonzero(turn.may & ~tolerated[cycle.text, turn.node])
        return by_rank(turn.node, some)

    def _counts(self, taint: Taint) -> bool:
        effects = ("NoSchedule", "PreferNoSchedule") if self.soft else ("NoSchedule",)
        names = {taint.key, f"{taint.key}={taint.value}"} if taint.value else {taint.key}
        wanted = not self.taints or bool(names & set(self.taints))
        return taint.effect in effects and wanted and not names & set(self.not_taints)


@dataclass(frozen=True, kw_only=True)
class RemovePodsViolatingInterPodAntiAffinity(Plugin):
    """Evict pods until no pod of a domain violates the required anti-affinity of another pod.

    Pods are evicted node by node, in the order of LowNodeUtilization (``turns_of``).
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "limits", "placed"})
    source: ClassVar[str] = (
        "descheduler @7d2b28bf removepodsviolatinginterpodantiaffinity"
        " (RemovePodsViolatingInterPodAntiAffinity)"
    )

    def run(self, turn: PluginRun) -> None:
        """Evict pods one at a time, as each eviction may end violations of other pods."""
        remaining = turn.seen.copy()
        full: set[int] = set()
        for at in np.lexsort((turns_of(turn), turn.node)).tolist():
            node = int(turn.node[at])
            if node in full or not turn.may[at] or not self._beside(turn, at, remaining):
                continue
            refused = turn.evict(at) if turn.movable(at) else "namespace"
            if refused is None:
                remaining[at] = False
            elif refused == "node":
                full.add(node)
            elif refused == "total":
                return

    def _beside(self, turn: PluginRun, at: int, remaining: BoolArray) -> bool:
        """Whether a remaining pod on the node or in the domain violates the pod's anti-affinity."""
        cycle, node = turn.cycle, turn.node
        for rule in cycle.pods.texts[cycle.text[at]].rules:
            if rule.kind != "podAntiAffinity":
                continue
            others = remaining & cycle.pods.meeting(rule.whom)[cycle.text]
            others[at] = False
            domain = cycle.pods.domain(rule.by)
            same = (domain[node] == domain[node[at]]) & (domain[node[at]] >= 0)
            if (others & (same | (node == node[at]))).any():
                return True
        return False


#: By how many containers two zones may differ where no constraints are recorded.
_SKEW = 1


@dataclass(frozen=True)
class _Constraint:
    """A constraint on the spread of containers over domains of nodes.

    Parameters
    ----------
    counts : int64, shape (counted,)
        The containers that count, in the order of ``_ranked``: the last is evicted first.
    domain : int64, shape (nodes,)
        The domain of each node, -1 for none.
    eligible : bool, shape (nodes,)
        Nodes whose domains count and that may receive a container.
    skew : int
        By how many containers two domains may differ.
    """

    counts: IntArray
    domain: IntArray
    eligible: BoolArray
    skew: int


@dataclass(frozen=True, kw_only=True)
class RemovePodsViolatingTopologySpreadConstraint(Plugin):
    """Evict containers from the largest domains until domains differ by at most the allowed skew.

    Constraints are those that pods state. Where no pods are recorded, each service is spread over
    zones with a skew of 1. Use it with a placement policy that spreads, for example
    pod_topology_spread. As upstream's code does, and against upstream's comment, the pod of the
    highest priority is evicted first.
    """

    source: ClassVar[str] = (
        "descheduler @7d2b28bf removepodsviolatingtopologyspreadconstraint/topologyspread"
        "constraint.go (balanceDomains)"
    )

    soft: Annotated[bool, About("Whether constraints with ScheduleAnyway count.")] = False
    hard: Annotated[bool, About("Whether constraints with DoNotSchedule count.")] = True
    balance_node_fit: Annotated[
        bool, About("Evict only pods that fit a node of a domain with fewer pods than the mean.")
    ] = True

    def chosen(self, turn: PluginRun) -> list[int]:
        """Return the containers to evict, constraint by constraint, each once."""
        written = turn.cycle.snapshot.pods is not None
        every = self._own(turn) if written else _of_services(turn)
        return list(dict.fromkeys(at for one in every for at in self._balanced(turn, one)))

    def _own(self, turn: PluginRun) -> list[_Constraint]:
        """The distinct constraints of the pods that the evictor lets go."""
        cycle, distinct, ranked = turn.cycle, {}, _ranked(turn)
        for text in dict.fromkeys(cycle.text[turn.may].tolist()):
            pod = cycle.pods.texts[text]
            hard = [one for one in pod.rules if one.kind == "topologySpread"]
            for rule in (*(hard if self.hard else ()), *(pod.soft if self.soft else ())):
                asks, bears = (
                    pod.selector if rule.selector else None,
                    pod.tolerations if rule.taints else None,
                )
                key = dataclasses.replace(rule, least=1), asks, bears
                if key not in distinct:
                    distinct[key] = self._stated(turn, rule, text, ranked)
        return list(distinct.values())

    def _stated(self, turn: PluginRun, rule: Rule, text: int, ranked: IntArray) -> _Constraint:
        cycle = turn.cycle
        eligible = cycle.listed.copy()
        if rule.selector:
            eligible &= cycle.pods.suits(text)
        if rule.taints:
            eligible &= cycle.pods.tolerates(text, lambda taint: taint.effect in CLOSING)
        # upstream counts pods of the own namespace alone
        own = ContainerSelection((cycle.pods.texts[text].namespace,), rule.whom.asks)
        counts = ranked[cycle.pods.meeting(own)[cycle.text[ranked]]]
        return _Constraint(counts, cycle.pods.domain(rule.by), eligible, rule.skew)

    def _balanced(self, turn: PluginRun, one: _Constraint) -> list[int]:
        """The containers to evict from large domains, until each fits a smaller one."""
        rows = self._rows(turn, one)
        sizes = sorted(map(len, rows.values()))
        if not rows or sizes[-1] - sizes[0] <= one.skew:
            return []
        mean = sum(sizes) / len(rows)
        few = [domain for domain, row in rows.items() if len(row) < mean]
        takers = one.eligible & np.isin(one.domain, few)
        fits = functools.cache(lambda at: turn.fits_other(at, takers))
        order = sorted(rows.values(), key=len)
        low, high, evicted = 0, len(order) - 1, []
        while low < high:
            if len(order[high]) <= mean:
                high -= 1
            skew = len(order[high]) - len(order[low])
            most = min(math.ceil(len(order[high]) - mean), math.ceil(mean - len(order[low])))
            count = min(most, math.ceil((skew - one.skew) / 2))
            if skew <= one.skew or count <= 0:
                low += 1
                continue
            order[high].sort(key=fits)
            going = order[high][-count:]
            evicted += [at for at in going if not self.balance_node_fit or fits(at)]
            del order[high][-count:]
            order[low] += going
        return evicted

    def _rows(self, turn: PluginRun, one: _Constraint) -> dict[int, list[int]]:
        """The counted containers of each domain, in their order."""
        domains = np.unique(one.domain[one.eligible & (one.domain >= 0)])
        rows: dict[int, list[int]] = {domain: [] for domain in domains.tolist()}
        where = one.domain[turn.node[one.counts]]
        for at, domain in zip(one.counts.tolist(), where.tolist(), strict=True):
            if domain >= 0:
                rows.setdefault(domain, []).append(at)
        return rows


def _ranked(turn: PluginRun) -> IntArray:
    """The pods that the evictor lets go: pods with a selector first, then by priority."""
    at = np.flatnonzero(turn.may)
    free = ~turn.cycle.each(lambda pod: pod.selects)[at]
    priority = turn.cycle.each(lambda pod: pod.priority, np.float64)[at]
    return np.asarray(at[np.lexsort((priority, free))])


def _of_services(turn: PluginRun) -> list[_Constraint]:
    """The constraint of each service on zones; no constraint where no node states a zone."""
    domains = turn.cycle.snapshot.domains
    zone = None if domains is None else domains.by("zone")
    if zone is None:
        return []
    ranked = _ranked(turn)
    services = np.array(turn.cycle.snapshot.placed.service, dtype=object)[ranked]
    names, of = np.unique(services, return_inverse=True)
    order = np.argsort(of, kind="stable")
    edges = np.searchsorted(of[order], np.arange(1, len(names)))
    return [
        _Constraint(members, zone, turn.cycle.listed, _SKEW)
        for name, members in zip(names, np.split(ranked[order], edges), strict=True)
        if name != UNKNOWN
    ]
