"""Containers that keep others away: required anti-affinity of Kubernetes, and ports of the host.

Source: kubernetes v1.34 interpodaffinity/filtering.go, nodeports. A rule closes a domain to who
states it while somebody runs there whom it means, and to whom it means while somebody runs there
who states it. A node that is in no domain of the rule is closed to nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracekit.arrays import BoolArray, IntArray
from tracekit.replay.workload.constraints.about_others import RulesAboutOthers
from tracekit.replay.workload.constraints.constraint import everywhere
from tracekit.replay.workload.constraints.relation import Tally


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
        """As it was given."""
        return self.label

    @property
    def kinds(self) -> IntArray:
        """The class of each."""
        return self.related.of

    def keeper(self, nodes: int) -> AntiAffinityKeeper:
        """Counts of who states each rule, and of whom it means, by domain."""
        return AntiAffinityKeeper(self, nodes)


class AntiAffinityKeeper:
    """Who runs where of those that state a rule, and of those whom it means."""

    def __init__(self, rules: PodAntiAffinity, nodes: int) -> None:
        self._of = rules.related.of.tolist()
        self._states, self._meant = rules.related.states.rows(), rules.related.meant.rows()
        self._stating, self._met = Tally(rules.domain, rules.by), Tally(rules.domain, rules.by)
        self._everywhere = everywhere(nodes)

    def open(self, index: int) -> BoolArray:
        """The nodes in whose domains nobody is who is kept away, or keeps away."""
        at = self._of[index]
        if at < 0:
            return self._everywhere
        near = [self._met.near(rule) for rule in self._states[at]]
        near += [self._stating.near(rule) for rule in self._meant[at]]
        found = self._everywhere
        for counts in near:
            if counts is not None:
                found = found & (counts == 0)
        return found

    def add(self, index: int, node: int) -> None:
        """One more there, of those that state rules and of those whom rules mean."""
        self._change(index, node, 1)

    def remove(self, index: int, node: int) -> None:
        """One less there."""
        self._change(index, node, -1)

    def _change(self, index: int, node: int, more: int) -> None:
        at = self._of[index]
        if at < 0:
            return
        for rule in self._states[at]:
            self._stating.change(rule, node, more)
        for rule in self._meant[at]:
            self._met.change(rule, node, more)
