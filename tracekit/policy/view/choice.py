"""Which nodes a container fits on, and from scores to one of them."""

from typing import Annotated, Literal

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.policy.view.snapshot import Container, Snapshot

Tie = Annotated[
    Literal["first", "reservoir"],
    About("Which of equally good nodes: the first, or reservoir sampling by the seed."),
]

#: Float scores closer than this many decimals are equal.
DECIMALS = 12


def best(scores: IntArray | FloatArray, tie: Tie, rng: np.random.Generator) -> int:
    """Position of the highest score.

    Parameters
    ----------
    scores : array, shape (feasible nodes,), not empty
    tie : {'first', 'reservoir'}
        The first of the highest, or one of them by reservoir sampling as kube-scheduler does:
        the i-th of equals replaces the choice with probability 1/i.
    """
    compared = np.round(scores, DECIMALS) if scores.dtype.kind == "f" else scores
    if tie == "first":
        return int(np.argmax(compared))
    equals = np.flatnonzero(compared == compared.max())
    if len(equals) == 1:
        return int(equals[0])  # nothing is drawn
    draws = rng.integers(np.arange(2, len(equals) + 1))
    replaced = np.flatnonzero(draws == 0)
    return int(equals[replaced[-1] + 1 if len(replaced) else 0])


# Which nodes a container fits on: requests against what is left, nothing else. Source:
# NodeResourcesFit of kubernetes v1.34. Real requests count, never the non-zero defaults; limits
# never matter; a container that requests nothing only needs a free place in ``pods``.

#: Of so few nodes all resources are compared at once.
_FEW = 64


def lacking(snapshot: Snapshot, container: Container, nodes: IntArray | None = None) -> BoolArray:
    """Whether nodes have too little left, shape (nodes, resources); of all or some."""
    chosen = slice(None) if nodes is None else nodes
    left = snapshot.allocatable[chosen] - snapshot.requested[chosen]
    return np.asarray((left < container.request) & (container.request > 0))


def fits(snapshot: Snapshot, container: Container, nodes: IntArray | None = None) -> BoolArray:
    """Which nodes have room for the container, shape (nodes,); of all nodes or of some."""
    if nodes is not None and len(nodes) <= _FEW:
        return np.asarray(~lacking(snapshot, container, nodes).any(axis=1))
    chosen = slice(None) if nodes is None else nodes
    room: BoolArray = np.ones(len(snapshot.allocatable[chosen]), dtype=np.bool_)
    for column in np.flatnonzero(container.request > 0):
        # resource by resource: so many rows are too short to be compared whole
        free = snapshot.allocatable[chosen, column] - snapshot.requested[chosen, column]
        room &= free >= container.request[column]
    return room
