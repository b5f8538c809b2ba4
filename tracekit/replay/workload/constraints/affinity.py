"""Containers that want to be near others, as required affinity of Kubernetes.

Source: kubernetes v1.34 interpodaffinity/filtering.go. All terms of a container are one rule: they
mean who meets every one of them. A node is open where somebody whom the rule means runs in the
node's domain of each term. Where nobody whom it means runs in any domain at all, a container that
the rule means itself may be the first, on any node that is in a domain of each term.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.arrays import BoolArray
from tracekit.replay.workload.constraints.about_others import RulesOfTheirOwn
from tracekit.replay.workload.constraints.constraint import everywhere
from tracekit.replay.workload.constraints.relation import Relation, Tally


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


class AffinityKeeper:
    """Who runs where of those whom each rule means."""

    def __init__(self, rules: PodAffinity, nodes: int) -> None:
        self._of = rules.related.of.tolist()
        self._states, self._meant = rules.related.states.rows(), rules.related.meant.rows()
        self._terms = [
            range(begin, end)
            for begin, end in zip(rules.terms.start[:-1], rules.terms.start[1:], strict=True)
        ]
        self._met = Tally(rules.domain, rules.terms.to)
        self._everywhere = everywhere(nodes)
        self._inside = [
            np.asarray((rules.domain[rows] >= 0).all(axis=0)) for rows in rules.terms.rows()
        ]

    def open(self, index: int) -> BoolArray:
        """The nodes that have in each domain somebody whom the container's rule means."""
        at = self._of[index]
        if at < 0 or not self._states[at]:
            return self._everywhere
        rule = self._states[at][0]
        near = [self._met.near(term) for term in self._terms[rule]]
        if all(counts is None for counts in near):
            alone = rule in self._meant[at]
            return self._inside[rule] if alone else np.zeros_like(self._everywhere)
        found = self._everywhere
        for counts in near:
            found = found & (counts > 0) if counts is not None else np.zeros_like(found)
        return found

    def add(self, index: int, node: int) -> None:
        """One more there of those whom rules mean."""
        self._change(index, node, 1)

    def remove(self, index: int, node: int) -> None:
        """One less there."""
        self._change(index, node, -1)

    def _change(self, index: int, node: int, more: int) -> None:
        at = self._of[index]
        for rule in self._meant[at] if at >= 0 else ():
            for term in self._terms[rule]:
                self._met.change(term, node, more)
