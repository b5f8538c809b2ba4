"""Where a container may run at all: selectors, taints, whatever stands before the replay begins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from tracekit.arrays import BoolArray, IntArray
from tracekit.replay.workload.constraints.constraint import Constraint, check_positions, everywhere


@dataclass(frozen=True, kw_only=True, eq=False)
class Allowed(Constraint):
    """Containers of one class may run on the same nodes.

    Parameters
    ----------
    label : str
        What it is called where it closed a node: selector, taints.
    of : int64, shape (containers,)
        The class of each; -1 may run anywhere.
    mask : bool, shape (classes, nodes)
    """

    fixed: ClassVar[bool] = True

    label: str
    of: IntArray
    mask: BoolArray

    def __post_init__(self) -> None:
        check_positions(f"{self.label}: class of container", self.of, len(self.mask))

    @property
    def name(self) -> str:
        """As it was given."""
        return self.label

    @property
    def kinds(self) -> IntArray:
        """The class of each."""
        return self.of

    @property
    def nodes(self) -> int:
        """How many nodes the mask has."""
        return int(self.mask.shape[1])

    def taken(self, order: IntArray) -> Self:
        """The same of other containers, or in another order."""
        return replace(self, of=self.of[order])

    def on(self, nodes: IntArray) -> Self:
        """The same where the nodes at these positions are all there are."""
        return replace(self, mask=self.mask[:, nodes])

    def keeper(self, nodes: int) -> AllowedKeeper:
        """Nothing changes while a replay runs."""
        return AllowedKeeper(self, nodes)


class AllowedKeeper:
    """The rows of the mask."""

    def __init__(self, allowed: Allowed, nodes: int) -> None:
        self._of = allowed.of.tolist()
        # the last row is that of -1
        self._rows = np.concatenate([allowed.mask, everywhere(nodes)[None]])

    def open(self, index: int) -> BoolArray:
        """The nodes of the container's class."""
        return np.asarray(self._rows[self._of[index]])

    def add(self, index: int, node: int) -> None:
        """Who runs where changes nothing."""

    def remove(self, index: int, node: int) -> None:
        """Who runs where changes nothing."""
