"""The interface of a kind of constraint, which every file of this folder implements."""

from __future__ import annotations

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
    """The reason why nodes are closed: a verb and its object, or a rule's name without a verb."""

    verb: str
    what: str

    @property
    def text(self) -> str:
        """The reason with a plural verb: ``lack the label disk=ssd``; the name of a rule as is."""
        return f"{self.verb} {self.what}".lstrip()

    @property
    def of_one(self) -> str:
        """The reason with a singular verb: ``lacks the label disk=ssd``."""
        return f"{_OF_ONE[self.verb]} {self.what}" if self.verb else f"is closed by {self.what}"

    def of(self, nodes: int) -> str:
        """Return the reason with the number of nodes: ``1 node lacks the label disk=ssd``."""
        if nodes == 1:
            return f"1 node {self.of_one}"
        return f"{nodes:,} nodes {self.text if self.verb else f'are closed by {self.what}'}"


class Keeper(Protocol):
    """The state of a constraint during a replay: which container runs where.

    Containers and nodes are positions in the workload.
    """

    def open(self, index: int) -> BoolArray:
        """Return the mask of nodes that are open to a container, shape (nodes,).

        Callers must not write to the array.
        """

    def add(self, index: int, node: int) -> None:
        """Record that the container starts on the node, whether or not the node was open to it."""

    def remove(self, index: int, node: int) -> None:
        """Record that the container leaves the node."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Constraint:
    """Base class of constraints, which say for each container of a workload which nodes are open.

    Attributes
    ----------
    label : str
        The kind: selector, taints, apart, together, affinity, anti-affinity, spread, ports, rules
        on sharing, NUMA cells.
    fixed : bool
        Whether the nodes open to a container do not depend on placements.
    only_closes : bool
        Whether placements can only close nodes: a node that is closed while it is empty never
        opens.
    """

    fixed: ClassVar[bool] = False
    only_closes: ClassVar[bool] = False

    label: str

    @property
    def name(self) -> str:
        """The name of the constraint in reports of nodes that it closed."""
        return self.label

    @property
    def kinds(self) -> IntArray:
        """The class of each container, shape (containers,).

        Containers with equal requests and of one class have the same nodes open. A container that
        the constraint does not concern has a class below 0; for NUMA cells its class is 0.
        """
        raise NotImplementedError

    @property
    def about(self) -> BoolArray:
        """Which containers the constraint concerns, shape (containers,)."""
        return np.asarray(self.kinds >= 0)

    @property
    def awaits(self) -> BoolArray:
        """Whether each container may need another one's arrival first, shape (containers,)."""
        return np.zeros(len(self.kinds), dtype=np.bool_)

    @property
    def nodes(self) -> int | None:
        """Number of nodes; None if the constraint takes any number."""
        return None

    def taken(self, order: IntArray) -> Self:
        """Return the constraint for the containers at these positions, in this order."""
        raise NotImplementedError

    def on(self, nodes: IntArray) -> Self:
        """Return the constraint for the nodes at these positions alone."""
        raise NotImplementedError

    def choosing(self, cell: CellChoice) -> Self:  # noqa: ARG002 - only cells are chosen
        """Return the constraint for a policy that chooses NUMA cells by ``cell``."""
        return self

    def keeper(self, nodes: int) -> Keeper:
        """Return the state for one replay on this number of nodes, before any placement."""
        raise NotImplementedError

    def apart(self) -> Iterator[tuple[IntArray, int]]:
        """Yield positions of containers, with the number of them that one node takes at a time."""
        return iter(())

    def why(self, index: int, nodes: int) -> dict[Reason, BoolArray]:
        """Return the reasons that close nodes to a container while nothing runs, with their masks.

        ``nodes`` is the number of nodes. A mask has the shape (nodes,).
        """
        return {Reason("", self.name): ~self.keeper(nodes).open(index)}


def everywhere(nodes: int) -> BoolArray:
    """Return a mask in which all nodes are open; it is shared and read-only."""
    every = np.ones(nodes, dtype=np.bool_)
    every.flags.writeable = False
    return every


def domains_on(domain: IntArray, nodes: IntArray) -> IntArray:
    """Return the domains of the nodes at these positions.

    A position that occurs again stands for a copy of the node. The copy is in the same domain, or
    in a new one if every node is a domain of its own, as with host names.

    Parameters
    ----------
    domain : int64, shape (nodes,)
        -1 is no domain.
    """
    domains = domain[nodes]
    again = np.ones(len(nodes), np.bool_)
    again[np.unique(nodes, return_index=True)[1]] = False
    stated = domain[domain >= 0]
    if not again.any() or len(np.unique(stated)) < len(stated):
        return domains
    new = np.flatnonzero(again & (domains >= 0))
    domains[new] = domain.max(initial=-1) + 1 + np.arange(len(new))
    return domains
