"""One decision: the container, the nodes with room, the policy's scores, the node."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.view.choice import best, fits
from tracekit.policy.view.snapshot import Container, Snapshot


@dataclass
class WindowStart:
    """The start of the next search for nodes with room, for policies that score some nodes only."""

    start: int = 0


def decide(
    policy: PlacementPolicy,
    snapshot: Snapshot,
    container: Container,
    rng: np.random.Generator,
    *,
    open_nodes: BoolArray | None = None,
    window_start: WindowStart | None = None,
) -> int | None:
    """The node the policy puts the container on, None when there is none with room.

    Parameters
    ----------
    open_nodes : bool, shape (nodes,), optional
        Nodes that constraints leave open to the container; None: all.
    window_start : WindowStart, optional
        Kept from decision to decision of one replay.
    """
    if "recorded" in policy.reads and container.recorded_node == -1:
        return None  # production never placed it either
    every = np.arange(len(snapshot.allocatable))
    nodes = every[fits(snapshot, container)] if policy.filtered else every
    if open_nodes is not None and policy.filtered:
        nodes = nodes[open_nodes[nodes]]
    if policy.filters():
        nodes = nodes[policy.admits(snapshot, container, nodes)]
    nodes = scored_nodes(policy, nodes, len(every), window_start or WindowStart())
    if len(nodes) == 0:
        return None
    if len(nodes) == 1:
        return int(nodes[0])
    if policy.skips(snapshot, container):
        scores: NDArray[Any] = np.zeros(len(nodes), dtype=np.int64)
    else:
        scores = policy.normalize(policy.score(snapshot, container, nodes))
    return int(nodes[best(scores, policy.tie, rng)])


def scored_nodes(
    policy: PlacementPolicy, feasible: IntArray, nodes: int, window_start: WindowStart
) -> IntArray:
    """The feasible nodes that the policy scores; moves the start of the window on."""
    chosen, window_start.start = policy.candidates(feasible, window_start.start, nodes)
    return chosen


def stands(
    policy: PlacementPolicy,
    snapshot: Snapshot,
    container: Container,
    open_nodes: BoolArray | None,
    node: int,
) -> bool:
    """Whether a container can go where a batch decision wants it, after those before it."""
    if node < 0 or (open_nodes is not None and not open_nodes[node]):
        return False
    at = np.array([node])
    return bool(fits(snapshot, container, at)[0] and policy.admits(snapshot, container, at)[0])
