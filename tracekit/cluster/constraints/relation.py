"""The containers that state a rule and those it means: by classes, rules by numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray

#: The numbers of some rules.
Numbers = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Relation:
    """Numbers of each of some classes, in one array.

    Parameters
    ----------
    start : int64, shape (classes + 1,)
    to : int64, shape (numbers,)
        Those of a class from its start to the next one's.
    """

    start: IntArray
    to: IntArray

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Self:
        """From the numbers of each class."""
        return cls(
            start=np.cumsum([0, *map(len, rows)]).astype(np.int64),
            to=np.array([one for row in rows for one in row], dtype=np.int64),
        )

    def rows(self) -> list[list[int]]:
        """The numbers of each class."""
        to = self.to.tolist()
        return [to[begin:end] for begin, end in pairwise(self.start.tolist())]


@dataclass(frozen=True, kw_only=True, eq=False)
class Related:
    """Which rules each container states, and which mean it.

    Parameters
    ----------
    of : int64, shape (containers,)
        Containers of one class state the same rules and are meant by the same; -1: by none.
    states, meant : Relation
        The rules of each class.
    """

    of: IntArray
    states: Relation
    meant: Relation

    @classmethod
    def join(
        cls,
        statement: IntArray,
        states: Sequence[Numbers],
        worn: IntArray,
        meant: Sequence[Numbers],
    ) -> Self:
        """Classes out of what containers state and what they wear.

        Parameters
        ----------
        statement, worn : int64, shape (containers,)
            Positions in ``states`` and in ``meant``; a statement of -1 is none.
        """
        first, stated = _numbered([*states, ()], statement)
        second, known = _numbered(meant, worn)
        pairs, of = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
        rows = [(stated[one], known[other]) for one, other in pairs.T.tolist()]
        kept = [at for at, row in enumerate(rows) if any(row)]
        number = np.full(len(rows), -1, dtype=np.int64)
        number[kept] = np.arange(len(kept))
        return cls(
            of=number[of.reshape(-1)],
            states=Relation.of([rows[at][0] for at in kept]),
            meant=Relation.of([rows[at][1] for at in kept]),
        )

    def taken(self, order: IntArray) -> Self:
        """The same of other containers, or in another order."""
        return replace(self, of=self.of[order])

    @property
    def stating(self) -> BoolArray:
        """Which containers state a rule, shape (containers,)."""
        some = np.append(np.diff(self.states.start) > 0, False)  # the last is that of -1
        return np.asarray(some[self.of])


def _numbered(rows: Sequence[Numbers], of: IntArray) -> tuple[IntArray, list[Numbers]]:
    """The number of the row of each, where equal rows have one number; and the distinct rows."""
    known: dict[Numbers, int] = {}
    number = np.array([known.setdefault(row, len(known)) for row in rows], dtype=np.int64)
    return number[of], list(known)


class Tally:
    """How many containers that a rule speaks of are in each of its domains.

    Parameters
    ----------
    domain : int64, shape (rows, nodes)
        -1 is no domain.
    by : int64, shape (rules,)
        The row of each rule.
    """

    def __init__(self, domain: IntArray, by: IntArray) -> None:
        self._by = by.tolist()
        self._domain = domain
        self._domains = [row.tolist() for row in domain]
        self._counts: dict[int, IntArray] = {}

    def change(self, rule: int, node: int, more: int) -> None:
        """Count so many more containers on the node."""
        domain = self._domains[self._by[rule]][node]
        if domain >= 0:
            self.counts(rule)[domain] += more

    def counts(self, rule: int) -> IntArray:
        """Containers in each domain of a rule; the last number is 0, that of no domain."""
        found = self._counts.get(rule)
        if found is None:
            size = int(self._domain[self._by[rule]].max(initial=-1)) + 2
            found = self._counts[rule] = np.zeros(size, dtype=np.int64)
        return found

    def in_domain(self, rule: int) -> IntArray | None:
        """Containers in the domain of each node, shape (nodes,); None where there are none."""
        found = self._counts.get(rule)
        if found is None or not found.any():
            return None
        return np.asarray(found[self._domain[self._by[rule]]])
