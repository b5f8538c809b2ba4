"""Domains of nodes (rack, domain, zone), and the times at which nodes come and go."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray

#: Kinds of domains, the smallest first.
KINDS = ("rack", "domain", "zone")


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeDomains:
    """The domain of every node, by kind.

    Parameters
    ----------
    kinds : tuple of str
        The kinds of ``KINDS`` that some node states.
    names : tuple of str
        Names of domains, of all kinds.
    of : int64, shape (kinds, nodes)
        A position in ``names``, -1 where a node states none.
    """

    kinds: tuple[str, ...]
    names: tuple[str, ...]
    of: IntArray

    def by(self, kind: str) -> IntArray | None:
        """The domain of every node by one kind, shape (nodes,); None where none is stated."""
        return self.of[self.kinds.index(kind)] if kind in self.kinds else None

    def on(self, nodes: IntArray) -> NodeDomains:
        """The part with the nodes at these positions alone."""
        return replace(self, of=self.of[:, nodes])

    def named(self, kind: str, name: str) -> IntArray:
        """Positions of the nodes of a domain, shape (found,); empty if no node is in it."""
        of = self.by(kind)
        if of is None or name not in self.names:
            return np.empty(0, dtype=np.int64)
        known = [at for at, one in enumerate(self.names) if one == name]
        return np.flatnonzero(np.isin(of, known))


@dataclass(frozen=True, kw_only=True, eq=False)
class Losses:
    """Nodes that are lost, or that come, in the order of the times.

    Parameters
    ----------
    node, time_ms : int64, shape (losses,)
        Each node occurs once, unless it leaves and comes back several times.
    assumed : bool, shape (losses,), optional
        Which losses are assumed, so that production kept the node. None: none is.
    drawn : bool, shape (losses,), optional
        Which nodes were drawn, because a number of nodes was given. None: none.
    """

    node: IntArray
    time_ms: IntArray
    assumed: BoolArray | None = None
    drawn: BoolArray | None = None

    @property
    def recorded(self) -> IntArray:
        """The nodes that production lost, in the order of their times."""
        return self.node if self.assumed is None else self.node[~self.assumed]

    def on(self, place: IntArray) -> Losses:
        """The losses of the nodes that stay, at their new positions; -1 for a node that goes.

        Parameters
        ----------
        place : int64, shape (nodes + 1,)
        """
        return self.of(place[self.node] >= 0, place)

    def of(self, kept: BoolArray, place: IntArray | None = None) -> Losses:
        """Some of them, shape (losses,), at the same places if no others are given."""
        node = self.node[kept]
        return Losses(
            node=node if place is None else np.asarray(place[node]),
            time_ms=self.time_ms[kept],
            assumed=None if self.assumed is None else self.assumed[kept],
            drawn=None if self.drawn is None else self.drawn[kept],
        )


def zone_counts(domains: NodeDomains | None) -> dict[str, int]:
    """How many zones nodes are in, and how many nodes are in none; empty without any."""
    zone = None if domains is None else domains.by("zone")
    if zone is None:
        return {}
    return {"zones": len(np.unique(zone[zone >= 0])), "nodes_without_zone": int((zone < 0).sum())}


def domains_of(columns: dict[str, list[str | None]]) -> NodeDomains | None:
    """The domains that columns state, one entry a node; None where they state none."""
    kinds = [kind for kind in KINDS if any(columns.get(kind) or ())]
    if not kinds:
        return None
    names: list[str] = []
    rows = []
    for kind in kinds:
        number: dict[str, int] = {}
        for name in columns[kind]:
            if name and name not in number:
                number[name] = len(names)
                names.append(name)
        rows.append([number.get(name or "", -1) for name in columns[kind]])
    return NodeDomains(kinds=tuple(kinds), names=tuple(names), of=np.array(rows, dtype=np.int64))
