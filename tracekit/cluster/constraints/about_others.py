"""Rules about other containers: affinity, anti-affinity and even spread, as Kubernetes has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.constraints.constraint import (
    Constraint,
    CountingKeeper,
    domains_on,
    everywhere,
)
from tracekit.cluster.constraints.relation import Related, Relation, Tally


@dataclass(frozen=True, kw_only=True, eq=False)
class RulesAboutOthers(Constraint):
    """Base of the constraints by which containers mean other containers.

    Parameters
    ----------
    related : Related
    domain : int64, shape (rows, nodes)
        -1 is no domain.
    """

    related: Related
    domain: IntArray

    @property
    def nodes(self) -> int:
        """How many nodes are in a domain or none."""
        return int(self.domain.shape[1])

    def taken(self, order: IntArray) -> Self:
        """The same of other containers, or in another order."""
        return replace(self, related=self.related.taken(order))

    def on(self, nodes: IntArray) -> Self:
        """The same where the nodes at these positions are all there are."""
        rows = [domains_on(row, nodes) for row in self.domain]
        return replace(self, domain=np.array(rows, dtype=np.int64).reshape(-1, len(nodes)))


@dataclass(frozen=True, kw_only=True, eq=False)
class RulesOfTheirOwn(RulesAboutOthers):
    """Base of those that concern only who states a rule."""

    @property
    def kinds(self) -> IntArray:
        """The class of each that states a rule."""
        return np.where(self.related.stating, self.related.of, -1)

    @property
    def awaits(self) -> BoolArray:
        """The containers that state a rule."""
        return self.related.stating


class _RulesKeeper(CountingKeeper):
    """Base of keepers: the rules that each class of containers states, and those that mean it."""

    def __init__(self, rules: RulesAboutOthers, nodes: int) -> None:
        self._of = rules.related.of.tolist()
        self._states, self._meant = rules.related.states.rows(), rules.related.meant.rows()
        self._everywhere = everywhere(nodes)


# Containers that want to be near others, as required affinity of Kubernetes. Source: kubernetes
# v1.34 interpodaffinity/filtering.go. All terms of a container are one rule: they mean who meets
# every one of them. A node is open where somebody whom the rule means runs in the node's domain
# of each term. Where nobody whom it means runs in any domain at all, a container that the rule
# means itself may be the first, on any node that is in a domain of each term.


@dataclass(frozen=True, kw_only=True, eq=False)
class PodAffinity(RulesOfTheirOwn):
    """Rules of containers towards other containers; each states one at most.

    Parameters
    ----------
    related : Related
    terms : Relation
        Of each rule the row of ``domain`` of each of its terms.
    domain : int64, shape (rows, nodes)
        -1 is no domain.
    """

    terms: Relation

    @property
    def name(self) -> str:
        """Affinity, to other containers."""
        return "affinity"

    def keeper(self, nodes: int) -> AffinityKeeper:
        """Counts of those whom each rule means, by domain of each term."""
        return AffinityKeeper(self, nodes)


class AffinityKeeper(_RulesKeeper):
    """Counts on each node the containers that each rule means."""

    def __init__(self, rules: PodAffinity, nodes: int) -> None:
        super().__init__(rules, nodes)
        self._terms = [
            range(begin, end)
            for begin, end in zip(rules.terms.start[:-1], rules.terms.start[1:], strict=True)
        ]
        self._met = Tally(rules.domain, rules.terms.to)
        self._inside = [
            np.asarray((rules.domain[rows] >= 0).all(axis=0)) for rows in rules.terms.rows()
        ]

    def open(self, index: int) -> BoolArray:
        """The nodes that have in each domain somebody whom the container's rule means."""
        at = self._of[index]
        if at < 0 or not self._states[at]:
            return self._everywhere
        rule = self._states[at][0]
        near = [self._met.in_domain(term) for term in self._terms[rule]]
        if all(counts is None for counts in near):
            alone = rule in self._meant[at]
            return self._inside[rule] if alone else np.zeros_like(self._everywhere)
        found = self._everywhere
        for counts in near:
            found = found & (counts > 0) if counts is not None else np.zeros_like(found)
        return found

    def _change(self, index: int, node: int, more: int) -> None:
        at = self._of[index]
        for rule in self._meant[at] if at >= 0 else ():
            for term in self._terms[rule]:
                self._met.change(term, node, more)


# Containers that keep others away: required anti-affinity of Kubernetes, and ports of the host.
# Source: kubernetes v1.34 interpodaffinity/filtering.go, nodeports. A rule closes a domain to who
# states it while somebody runs there whom it means, and to whom it means while somebody runs
# there who states it. A node that is in no domain of the rule is closed to nobody.


@dataclass(frozen=True, kw_only=True, eq=False)
class PodAntiAffinity(RulesAboutOthers):
    """Rules of containers against other containers.

    Parameters
    ----------
    label : str
        What it is called where it closed a node: anti-affinity, ports.
    related : Related
    by : int64, shape (rules,)
        The row of ``domain`` that each rule goes by.
    domain : int64, shape (rows, nodes)
        -1 is no domain.
    """

    label: str
    by: IntArray

    @property
    def name(self) -> str:
        """The given name."""
        return self.label

    @property
    def kinds(self) -> IntArray:
        """The class of each."""
        return self.related.of

    def apart(self) -> Iterator[tuple[IntArray, int]]:
        """The classes that state a rule and are meant by it: each of them keeps all others away."""
        states, meant = self.related.states.rows(), self.related.meant.rows()
        classes: dict[int, list[int]] = {}
        for at, rules in enumerate(states):
            for rule in set(rules).intersection(meant[at]):
                classes.setdefault(rule, []).append(at)
        for rule, those in classes.items():
            if (self.domain[self.by[rule]] >= 0).all():
                yield np.flatnonzero(np.isin(self.related.of, those)), 1

    def keeper(self, nodes: int) -> AntiAffinityKeeper:
        """Counts of who states each rule, and of whom it means, by domain."""
        return AntiAffinityKeeper(self, nodes)


class AntiAffinityKeeper(_RulesKeeper):
    """Counts on each node the containers that state a rule, and those that it means."""

    def __init__(self, rules: PodAntiAffinity, nodes: int) -> None:
        super().__init__(rules, nodes)
        self._stating, self._met = Tally(rules.domain, rules.by), Tally(rules.domain, rules.by)

    def open(self, index: int) -> BoolArray:
        """The nodes in whose domains nobody is who is kept away, or keeps away."""
        at = self._of[index]
        if at < 0:
            return self._everywhere
        near = [self._met.in_domain(rule) for rule in self._states[at]]
        near += [self._stating.in_domain(rule) for rule in self._meant[at]]
        found = self._everywhere
        for counts in near:
            if counts is not None:
                found = found & (counts == 0)
        return found

    def _change(self, index: int, node: int, more: int) -> None:
        at = self._of[index]
        if at < 0:
            return
        for rule in self._states[at]:
            self._stating.change(rule, node, more)
        for rule in self._meant[at]:
            self._met.change(rule, node, more)


# Containers that must be spread evenly: topology spread constraints with DoNotSchedule. Source:
# kubernetes v1.34 podtopologyspread/filtering.go. A node is open where, with the container, its
# domain would have at most ``skew`` more of those whom the rule means than the domain that has
# fewest. Only nodes that count make a domain, and only what runs on them is counted: those that
# have every label the container spreads over and, as the rule says, that its selector selects and
# whose taints it tolerates. With fewer domains than ``least`` the fewest is none. A node without
# the label is closed.


@dataclass(frozen=True, kw_only=True, eq=False)
class Spread(RulesOfTheirOwn):
    """Rules of containers on how they are spread.

    Parameters
    ----------
    related : Related
    skew, least : int64, shape (rules,)
        Largest difference between domains; domains below which the fewest counts as 0.
    by, counted_by : int64, shape (rules,)
        The row of ``domain`` of all nodes, and that of the nodes that count.
    domain : int64, shape (rows, nodes)
        -1 is no domain, or a node that does not count.
    """

    skew: IntArray
    least: IntArray
    by: IntArray
    counted_by: IntArray

    @property
    def name(self) -> str:
        """Spread, over domains."""
        return "spread"

    def keeper(self, nodes: int) -> SpreadKeeper:
        """Counts of those whom each rule means, by domain."""
        return SpreadKeeper(self, nodes)


class SpreadKeeper(_RulesKeeper):
    """How many of those whom each rule means are in each domain."""

    def __init__(self, rules: Spread, nodes: int) -> None:
        super().__init__(rules, nodes)
        self._rules = rules
        self._met = Tally(rules.domain, rules.counted_by)
        self._known = [np.unique(row[row >= 0]) for row in rules.domain]

    def open(self, index: int) -> BoolArray:
        """The nodes of domains that may have one more."""
        at = self._of[index]
        found = self._everywhere
        for rule in self._states[at] if at >= 0 else ():
            found = found & self._even(rule, int(rule in self._meant[at]))
        return found

    def _even(self, rule: int, more: int) -> BoolArray:
        rules = self._rules
        known, counts = self._known[rules.counted_by[rule]], self._met.counts(rule)
        domain = rules.domain[rules.by[rule]]
        if not len(known):
            return np.asarray(domain >= 0)
        fewest = int(counts[known].min()) if len(known) >= rules.least[rule] else 0
        there = np.zeros(int(domain.max(initial=-1)) + 2, dtype=np.int64)
        there[: len(counts) - 1] = counts[:-1]
        return np.asarray((domain >= 0) & (there[domain] + more - fewest <= rules.skew[rule]))

    def _change(self, index: int, node: int, more: int) -> None:
        at = self._of[index]
        for rule in self._meant[at] if at >= 0 else ():
            self._met.change(rule, node, more)
