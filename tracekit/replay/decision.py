"""One decision: the container, the nodes with room, the policy's scores, the node."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.choice import best
from tracekit.replay.filter import fits
from tracekit.replay.placement import PlacementPolicy
from tracekit.replay.snapshot import Container, Snapshot


def decide(
    policy: PlacementPolicy, snapshot: Snapshot, container: Container, rng: np.random.Generator
) -> int | None:
    """The node the policy puts the container on, None when there is none with room."""
    every = np.arange(len(snapshot.allocatable))
    nodes = every[fits(snapshot, container)] if policy.filtered else every
    if len(nodes) == 0:
        return None
    if len(nodes) == 1:
        return int(nodes[0])
    if policy.skips(snapshot, container):
        scores: NDArray[Any] = np.zeros(len(nodes), dtype=np.int64)
    else:
        scores = policy.normalize(policy.score(snapshot, container, nodes))
    return int(nodes[best(scores, policy.tie, rng)])
