"""Members of a group keep apart: at most so many of them on a node, in a rack, domain or zone.

As required anti-affinity of Kubernetes with a number: a node that is in no domain limits nobody.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from tracekit.arrays import BoolArray, IntArray
from tracekit.replay.workload.constraints.constraint import check_positions, everywhere
from tracekit.replay.workload.constraints.domains import members_of
from tracekit.replay.workload.constraints.grouped import Grouped


@dataclass(frozen=True, kw_only=True, eq=False)
class Apart(Grouped):
    """At most ``most`` of a group in one domain.

    Parameters
    ----------
    most : int64, shape (groups,)
    """

    most: IntArray

    def __post_init__(self) -> None:
        check_positions(f"{self.name}: group of container", self.group, len(self.most))

    @property
    def name(self) -> str:
        """Apart by what."""
        return f"apart by {self.by}"

    def keeper(self, nodes: int) -> ApartKeeper:
        """Counts of each group in each domain."""
        return ApartKeeper(self, nodes)


class ApartKeeper:
    """How many of each group are in each domain; a question costs the domains that are full."""

    def __init__(self, apart: Apart, nodes: int) -> None:
        self._group, self._domain = apart.group.tolist(), apart.domain.tolist()
        self._most = apart.most.tolist()
        self._members = members_of(apart.domain)
        self._everywhere = everywhere(nodes)
        self._count: defaultdict[int, Counter[int]] = defaultdict(Counter)
        self._full: defaultdict[int, set[int]] = defaultdict(set)

    def open(self, index: int) -> BoolArray:
        """All nodes but those of domains that have as many of the group as they may."""
        group = self._group[index]
        full = self._full.get(group)
        if group < 0 or not full:
            return self._everywhere
        found = np.ones(len(self._everywhere), dtype=np.bool_)
        for domain in full:
            found[self._members[domain]] = False
        return found

    def add(self, index: int, node: int) -> None:
        """One more of its group in the domain."""
        self._change(index, node, 1)

    def remove(self, index: int, node: int) -> None:
        """One less of its group in the domain."""
        self._change(index, node, -1)

    def _change(self, index: int, node: int, more: int) -> None:
        group, domain = self._group[index], self._domain[node]
        if group < 0 or domain < 0:
            return
        count = self._count[group]
        count[domain] += more
        if count[domain] >= self._most[group]:
            self._full[group].add(domain)
        else:
            self._full[group].discard(domain)
