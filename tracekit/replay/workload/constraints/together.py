"""Members of a group stay together: they share a node, a rack, a domain or a zone.

Required affinity of Kubernetes: the first member that is placed chooses the domain, later ones
follow. A member waits where the group's domain is full; when all have left, the next one chooses
anew. A node that is in no domain takes no member of a group.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from tracekit.arrays import BoolArray
from tracekit.replay.workload.constraints.constraint import everywhere
from tracekit.replay.workload.constraints.domains import members_of
from tracekit.replay.workload.constraints.grouped import Grouped


@dataclass(frozen=True, kw_only=True, eq=False)
class Together(Grouped):
    """Members of a group share a domain."""

    @property
    def name(self) -> str:
        """Together by what."""
        return f"together by {self.by}"

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
