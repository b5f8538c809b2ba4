"""Policies that decide for several containers at once."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.parameters import About
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Containers that wait for nodes, in the order of their arrival.

    Parameters
    ----------
    open_nodes : bool, shape (containers, nodes), optional
        What constraints leave open as the batch begins; None: all.
    """

    containers: tuple[Container, ...]
    open_nodes: BoolArray | None = None


@dataclass(frozen=True, kw_only=True)
class BatchPolicy(PlacementPolicy):
    """Base of policies that decide batch by batch.

    ``score`` still says how good a node is for one container: a container whose proposed node has
    no room for it, after those of its batch that came before, goes where it scores best.
    """

    batched: ClassVar[bool] = True

    batch_size: Annotated[
        int, About("Containers decided at once; a batch ends with the sampling step.", minimum=1)
    ] = 10

    def select(self, snapshot: Snapshot, batch: Batch, rng: np.random.Generator) -> IntArray:
        """The node of each container of the batch, -1 for none.

        Returns
        -------
        int64, shape (containers,)
        """
        raise NotImplementedError


def within(position: Any, nodes: int) -> Any:
    """A position whose whole part is a node's number, for arrays and, compiled, numbers."""
    return np.maximum(np.minimum(position, nodes - 1e-9), 0.0)
