"""BNP's rule on any one resource: keep the nodes' loads close together."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import IntArray
from tracekit.replay.placement._extender import has_room
from tracekit.replay.placement._load_variance import balance_scores
from tracekit.replay.placement._measured import used_amount
from tracekit.replay.view.snapshot import Container, Snapshot


def balance_resource(
    resource: str, snapshot: Snapshot, container: Container, nodes: IntArray
) -> IntArray:
    """BNP's rule on a resource: 0 everywhere without it, else balance among nodes with room."""
    scores = np.zeros(len(nodes), dtype=np.int64)
    column = snapshot.column(resource)
    if column is None:
        return scores
    valid = has_room(snapshot, column, container, nodes)
    scores[valid] = balance_scores(
        float(container.request[column]),
        used_amount(snapshot, column)[nodes[valid]],
        snapshot.capacity[nodes[valid], column].astype(np.float64),
    )
    return scores
