"""Members of a group stay together: they share a node, a rack, a domain or a zone.

Required affinity of Kubernetes: the first member that is placed chooses the domain, later ones
follow. A member waits where the group's domain is full; when all have left, the next one chooses
anew. A node that is in no domain takes no member of a group.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tracekit.arrays import BoolArray, IntArray
from tracekit.replay.workload.constraints.constraint import Constraint, everywhere
from tracekit.replay.workload.constraints.domains import members_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Together(Constraint):
    """Members of a group share a domain.

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
    def name(self) -> str:
        """Together by what."""
        return f"together by {self.by}"

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

    def keeper(self, nodes: int) -> TogetherKeeper:
        """The domains where each group is."""
        return TogetherKeeper(self, nodes)


class TogetherKeeper:
    """In which domains each group is: one, unless some were put elsewhere unasked."""

    def __init__(self, together: Together, nodes: int) -> None:
        self._group, self._domain = together.group.tolist(), together.domain.tolist()
        self._members = members_of(together.domain)
        self._everywhere = everywhere(nodes)
        self._in_some = np.asarray(together.domain >= 0)
        self._count: defaultdict[int, Counter[int]] = defaultdict(Counter)

    def open(self, index: int) -> BoolArray:
        """The nodes of the domains where members of the group are; of any while there are none."""
        group = self._group[index]
        if group < 0:
            return self._everywhere
        there = self._count.get(group)
        if not there:
            return self._in_some
        found = np.zeros(len(self._everywhere), dtype=np.bool_)
        for domain in there:
            found[self._members[domain]] = True
        return found

    def add(self, index: int, node: int) -> None:
        """One more of its group in the domain."""
        group, domain = self._group[index], self._domain[node]
        if group >= 0 and domain >= 0:
            self._count[group][domain] += 1

    def remove(self, index: int, node: int) -> None:
        """One less of its group in the domain."""
        group, domain = self._group[index], self._domain[node]
        if group >= 0 and domain >= 0:
            there = self._count[group]
            there[domain] -= 1
            if not there[domain]:
                del there[domain]
