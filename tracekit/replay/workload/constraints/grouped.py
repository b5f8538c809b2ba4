"""What constraints on groups share: containers by groups, nodes by domains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from tracekit.arrays import IntArray
from tracekit.replay.workload.constraints.constraint import Constraint


@dataclass(frozen=True, kw_only=True, eq=False)
class Grouped(Constraint):
    """Base of the constraints on members of a group.

    Parameters
    ----------
    by : str
        What the domains are: node, rack, domain, zone, or a label.
    group : int64, shape (containers,)
        -1 is no group.
    domain : int64, shape (nodes,)
        -1 is no domain.
    """

    by: str
    group: IntArray
    domain: IntArray

    @property
    def kinds(self) -> IntArray:
        """The group of each."""
        return self.group

    @property
    def nodes(self) -> int:
        """How many nodes are in a domain or none."""
        return len(self.domain)

    def taken(self, order: IntArray) -> Self:
        """The same of other containers, or in another order."""
        return replace(self, group=self.group[order])

    def on(self, nodes: IntArray) -> Self:
        """The same where the nodes at these positions are all there are."""
        return replace(self, domain=self.domain[nodes])
