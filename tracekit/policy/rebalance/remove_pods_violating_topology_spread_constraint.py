"""Topology spread: move containers from domains with many to domains with few."""

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.parameters import About
from tracekit.cluster.constraints.among import Rule, Whom
from tracekit.cluster.constraints.labels import CLOSING
from tracekit.cluster.workload import UNKNOWN
from tracekit.policy.rebalance._turn import Plugin, Turn


@dataclass(frozen=True)
class _Constraint:
    """A constraint: who counts, by domain; nodes of no domain have -1.

    Parameters
    ----------
    counts : int64, shape (those who count,)
        Those with a selector first, then by priority: who goes first is last.
    domain : int64, shape (nodes,)
    eligible : bool, shape (nodes,)
        Nodes that make domains, and take.
    """

    counts: IntArray
    domain: IntArray
    eligible: BoolArray
    skew: int


@dataclass(frozen=True, kw_only=True)
class RemovePodsViolatingTopologySpreadConstraint(Plugin):
    """Evict from the domains with most until all are within the skew.

    Goes with a placement policy that spreads, for example pod_topology_spread. Of equals upstream
    evicts the one of the highest priority, against its own comment; so does this.
    """

    source: ClassVar[str] = (
        "descheduler @7d2b28bf removepodsviolatingtopologyspreadconstraint/topologyspread"
        "constraint.go (balanceDomains)"
    )

    by: Annotated[
        Literal["own", "node", "rack", "domain", "zone"],
        About(
            "What containers are spread over: their own constraints, or every service over this;"
            " own is zone where nothing is written of them."
        ),
    ] = "own"
    max_skew: Annotated[
        int, About("By how many two domains may differ, but by own constraints.", minimum=1)
    ] = 1
    soft: Annotated[bool, About("Hold constraints with ScheduleAnyway, too.")] = False
    hard: Annotated[bool, About("Hold those with DoNotSchedule.")] = True
    balance_node_fit: Annotated[
        bool, About("Evict only what fits a node of a domain with fewer than the mean.")
    ] = True

    def chosen(self, turn: Turn) -> list[int]:
        """Constraint by constraint, each container once."""
        written = turn.cycle.snapshot.pods is not None
        own = self.by == "own" and written
        every = (
            self._own(turn)
            if own
            else self._of_services(turn, "zone" if self.by == "own" else self.by)
        )
        return list(dict.fromkeys(at for one in every for at in self._balanced(turn, one)))

    def _own(self, turn: Turn) -> list[_Constraint]:
        """The constraints that those who may go state, each distinct one once."""
        cycle, found, ranked = turn.cycle, {}, _ranked(turn)
        for text in dict.fromkeys(cycle.text[turn.may].tolist()):
            pod = cycle.pods.texts[text]
            hard = [one for one in pod.rules if one.kind == "topologySpread"]
            for rule in (*(hard if self.hard else ()), *(pod.soft if self.soft else ())):
                asks, bears = (
                    pod.asks if rule.selector else None,
                    pod.bears if rule.taints else None,
                )
                key = dataclasses.replace(rule, least=1), asks, bears
                if key not in found:
                    found[key] = self._stated(turn, rule, text, ranked)
        return list(found.values())

    def _stated(self, turn: Turn, rule: Rule, text: int, ranked: IntArray) -> _Constraint:
        cycle = turn.cycle
        eligible = cycle.listed.copy()
        if rule.selector:
            eligible &= cycle.pods.suits(text)
        if rule.taints:
            eligible &= cycle.pods.tolerates(text, lambda taint: taint.effect in CLOSING)
        # the pods of the namespace, whatever a constraint may say of others
        own = Whom((cycle.pods.texts[text].namespace,), rule.whom.asks)
        counts = ranked[cycle.pods.meeting(own)[cycle.text[ranked]]]
        return _Constraint(counts, cycle.pods.domain(rule.by), eligible, rule.skew)

    def _of_services(self, turn: Turn, by: str) -> list[_Constraint]:
        """The one constraint for every service; none where no node states a domain."""
        snapshot = turn.cycle.snapshot
        domain = np.arange(len(snapshot.allocatable)) if by == "node" else None
        if domain is None and snapshot.domains is not None:
            domain = snapshot.domains.by(by)
        if domain is None:
            return []
        ranked = _ranked(turn)
        services = np.array(snapshot.placed.service, dtype=object)[ranked]
        names, of = np.unique(services, return_inverse=True)
        order = np.argsort(of, kind="stable")
        edges = np.searchsorted(of[order], np.arange(1, len(names)))
        return [
            _Constraint(members, domain, turn.cycle.listed, self.max_skew)
            for name, members in zip(names, np.split(ranked[order], edges), strict=True)
            if name != UNKNOWN
        ]

    def _balanced(self, turn: Turn, one: _Constraint) -> list[int]:
        """Who goes from full domains to empty ones; the last of a domain goes first."""
        rows = self._rows(turn, one)
        sizes = sorted(map(len, rows.values()))
        if not rows or sizes[-1] - sizes[0] <= one.skew:
            return []
        mean = sum(sizes) / len(rows)
        few = [domain for domain, row in rows.items() if len(row) < mean]
        takers = one.eligible & np.isin(one.domain, few)
        fits = functools.cache(lambda at: turn.fits_other(at, takers))
        order = sorted(rows.values(), key=len)
        low, high, found = 0, len(order) - 1, []
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
            found += [at for at in going if not self.balance_node_fit or fits(at)]
            del order[high][-count:]
            order[low] += going
        return found

    def _rows(self, turn: Turn, one: _Constraint) -> dict[int, list[int]]:
        """Who counts by domain, in order."""
        known = np.unique(one.domain[one.eligible & (one.domain >= 0)])
        rows: dict[int, list[int]] = {domain: [] for domain in known.tolist()}
        where = one.domain[turn.node[one.counts]]
        for at, domain in zip(one.counts.tolist(), where.tolist(), strict=True):
            if domain >= 0:
                rows.setdefault(domain, []).append(at)
        return rows


def _ranked(turn: Turn) -> IntArray:
    """Those who may go: with a selector first, then by priority."""
    at = np.flatnonzero(turn.may)
    free = ~turn.cycle.each(lambda pod: pod.selects)[at]
    priority = turn.cycle.each(lambda pod: pod.priority, np.float64)[at]
    return np.asarray(at[np.lexsort((priority, free))])
