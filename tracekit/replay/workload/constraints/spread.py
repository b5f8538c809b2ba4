"""Containers that must be spread evenly: topology spread constraints with DoNotSchedule.

Source: kubernetes v1.34 podtopologyspread/filtering.go. A node is open where, with the container,
its domain would have at most ``skew`` more of those whom the rule means than the domain that has
fewest. Only nodes that count make a domain, and only what runs on them is counted: those that have
every label the container spreads over and, as the rule says, that its selector selects and whose
taints it tolerates. With fewer domains than ``least`` the fewest is none. A node without the label
is closed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.arrays import BoolArray, IntArray
from tracekit.replay.workload.constraints.about_others import RulesOfTheirOwn
from tracekit.replay.workload.constraints.constraint import everywhere
from tracekit.replay.workload.constraints.relation import Tally


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


class SpreadKeeper:
    """How many of those whom each rule means are in each domain."""

    def __init__(self, rules: Spread, nodes: int) -> None:
        self._rules = rules
        self._of = rules.related.of.tolist()
        self._states, self._meant = rules.related.states.rows(), rules.related.meant.rows()
        self._met = Tally(rules.domain, rules.counted_by)
        self._known = [np.unique(row[row >= 0]) for row in rules.domain]
        self._everywhere = everywhere(nodes)

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

    def add(self, index: int, node: int) -> None:
        """One more there of those whom rules mean."""
        self._change(index, node, 1)

    def remove(self, index: int, node: int) -> None:
        """One less there."""
        self._change(index, node, -1)

    def _change(self, index: int, node: int, more: int) -> None:
        at = self._of[index]
        for rule in self._meant[at] if at >= 0 else ():
            self._met.change(rule, node, more)
