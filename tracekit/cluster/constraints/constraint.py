"""A kind of constraint: what every file of this room gives."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray

#: Which cell of a node a container gets: the lowest number that fits, or the fullest that fits.
CellChoice = Literal["first", "tight"]


#: What a verb of several nodes is of one.
_OF_ONE = {"lack": "lacks", "have": "has", "are": "is", "meet": "meets"}


class Reason(NamedTuple):
    """Why nodes are closed: a verb and what follows it; without a verb the name of a rule."""

    verb: str
    what: str

    @property
    def text(self) -> str:
        """What several nodes do: ``lack the label disk=ssd``; the name of a rule as it is."""
        return f"{self.verb} {self.what}".lstrip()

    @property
    def of_one(self) -> str:
        """What one node does: ``lacks the label disk=ssd``."""
        return f"{_OF_ONE[self.verb]} {self.what}" if self.verb else f"is closed by {self.what}"

    def of(self, nodes: int) -> str:
        """What so many nodes do: ``1 node lacks the label disk=ssd``."""
        if nodes == 1:
            return f"1 node {self.of_one}"
        return f"{nodes:,} nodes {self.text if self.verb else f'are closed by {self.what}'}"


class Keeper(Protocol):
    """Follows who runs where; containers and nodes are positions in the workload."""

    def open(self, index: int) -> BoolArray:
        """Which nodes the constraint leaves open to a container, shape (nodes,); not written to."""

    def add(self, index: int, node: int) -> None:
        """The container starts on the node, whether or not that was open to it."""

    def remove(self, index: int, node: int) -> None:
        """The container leaves the node."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Constraint:
    """Base of every kind of constraint.

    Attributes
    ----------
    label : str
        What kind it is: selector, taints, apart, together, affinity, anti-affinity, spread, ports,
        rules on sharing, NUMA cells.
    fixed : bool
        Whether the nodes open to a container are the same whoever runs where.
    only_closes : bool
        Whether others can only close further nodes: one that is closed while empty never opens.
    """

    fixed: ClassVar[bool] = False
    only_closes: ClassVar[bool] = False

    label: str

    @property
    def name(self) -> str:
        """The constraint's name where it closed a node."""
        return self.label

    @property
    def kinds(self) -> IntArray:
        """The kind of each container among those of equal request, shape (containers,).

        The same, below 1 of cells and below 0 of all else, for those it is not about.
        """
        raise NotImplementedError

    @property
    def about(self) -> BoolArray:
        """Which containers it is about, shape (containers,)."""
        return np.asarray(self.kinds >= 0)

    @property
    def awaits(self) -> BoolArray:
        """Which containers another one's coming may let in, shape (containers,)."""
        return np.zeros(len(self.kinds), dtype=np.bool_)

    @property
    def nodes(self) -> int | None:
        """How many nodes it knows, None where it takes any number."""
        return None

    def taken(self, order: IntArray) -> Self:
        """The same constraint of the containers at these positions, in this order."""
        raise NotImplementedError

    def on(self, nodes: IntArray) -> Self:
        """The constraint with the nodes at these positions alone."""
        raise NotImplementedError

    def choosing(self, cell: CellChoice) -> Self:  # noqa: ARG002 - only cells are chosen
        """The same constraint where a policy chooses cells like this."""
        return self

    def keeper(self, nodes: int) -> Keeper:
        """The keeper for one replay on so many nodes."""
        raise NotImplementedError

    def apart(self) -> Iterator[tuple[IntArray, int]]:
        """Containers of which no node, whichever it is, takes more than so many at a time."""
        return iter(())

    def why(self, index: int, nodes: int) -> dict[Reason, BoolArray]:
        """The reasons that close these nodes to a container while nothing runs."""
        return {Reason("", self.name): ~self.keeper(nodes).open(index)}


def everywhere(nodes: int) -> BoolArray:
    """All nodes are open; nobody may write to it."""
    every = np.ones(nodes, dtype=np.bool_)
    every.flags.writeable = False
    return every


def domains_on(domain: IntArray, nodes: IntArray) -> IntArray:
    """Domains of the nodes at these positions; one given again is a further node like it.

    Where every node is a domain of its own, as by host name, a further one is a new domain.

    Parameters
    ----------
    domain : int64, shape (nodes,)
        -1 is no domain.
    """
    found = domain[nodes]
    again = np.ones(len(nodes), np.bool_)
    again[np.unique(nodes, return_index=True)[1]] = False
    known = domain[domain >= 0]
    if not again.any() or len(np.unique(known)) < len(known):
        return found
    new = np.flatnonzero(again & (found >= 0))
    found[new] = domain.max(initial=-1) + 1 + np.arange(len(new))
    return found
