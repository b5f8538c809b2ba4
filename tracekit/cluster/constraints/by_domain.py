"""Rules on groups and the domains of nodes: members that stay together, members that keep apart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.constraints.constraint import (
    Constraint,
    CountingKeeper,
    check_positions,
    domains_on,
    everywhere,
)


def members_of(domain: IntArray) -> list[IntArray]:
    """The nodes of each domain, ascending.

    Parameters
    ----------
    domain : int64, shape (nodes,)
        -1 is no domain.
    """
    order = np.argsort(domain, kind="stable")
    edges = np.searchsorted(domain[order], np.arange(domain.max(initial=-1) + 2))
    return [order[edges[at] : edges[at + 1]] for at in range(len(edges) - 1)]


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
        return replace(self, domain=domains_on(self.domain, nodes))


# Members of a group stay together: they share a node, a rack, a domain or a zone. Required
# affinity of Kubernetes: the first member that is placed chooses the domain, later ones follow. A
# member waits where the group's domain is full; when all have left, the next one chooses anew. A
# node that is in no domain takes no member of a group.


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


class TogetherKeeper(CountingKeeper):
    """The domains of each group: one, unless some were put elsewhere without a check."""

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

    def _change(self, index: int, node: int, more: int) -> None:
        group, domain = self._group[index], self._domain[node]
        if group >= 0 and domain >= 0:
            there = self._count[group]
            there[domain] += more
            if not there[domain]:
                del there[domain]


# Members of a group keep apart: at most so many of them on a node, in a rack, domain or zone. As
# required anti-affinity of Kubernetes with a number: a node that is in no domain limits nobody.


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

    def apart(self) -> Iterator[tuple[IntArray, int]]:
        """The members of each group, but where a node in no domain takes any number of them."""
        if (self.domain >= 0).all():
            yield from zip(members_of(self.group), self.most.tolist(), strict=False)

    def keeper(self, nodes: int) -> ApartKeeper:
        """Counts of each group in each domain."""
        return ApartKeeper(self, nodes)


class ApartKeeper(CountingKeeper):
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
