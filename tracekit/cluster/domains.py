"""The place of nodes: rack, domain and zone, as far as a workload knows them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tracekit.base.arrays import IntArray

#: Kinds of domains, the smallest first.
KINDS = ("rack", "domain", "zone")


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeDomains:
    """The domain of every node, by kind.

    Parameters
    ----------
    kinds : tuple of str
        Those of ``KINDS`` that some node states.
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
        """The same where the nodes at these positions are all there are."""
        return replace(self, of=self.of[:, nodes])

    def named(self, kind: str, name: str) -> IntArray:
        """Positions of the nodes of a domain, shape (found,); none where there is no such one."""
        of = self.by(kind)
        if of is None or name not in self.names:
            return np.empty(0, dtype=np.int64)
        known = [at for at, one in enumerate(self.names) if one == name]
        return np.flatnonzero(np.isin(of, known))


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
