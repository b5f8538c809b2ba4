"""Balanced load: the variance of load over the nodes, and BNP's rule on one resource."""

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.policy.placement._parts.measured import has_room, used_amount
from tracekit.policy.view.snapshot import Container, Snapshot

# Balanced load: how little each node would add to the variance of load over the nodes. Source:
# BNP of github.com/adolphlwq/liang @56384517, which recomputes the variance for every node. One
# load changes at a time, so a change of two sums gives the same number.


def balance_scores(need: float, current: FloatArray, capacity: FloatArray) -> IntArray:
    """Scores 0..100: 100 where placing leaves the lowest variance of load, 0 the highest.

    Parameters
    ----------
    need : float
    current, capacity : float64, shape (nodes,)
        Valid nodes alone: ``need + current <= capacity``, all in one unit.

    Returns
    -------
    int64, shape (nodes,)
        ``trunc(100 - 100 (v - min) / (max - min))``; a single node gets 100, nodes of equal
        variance 0, as does every node when nothing is needed.
    """
    if need == 0 or not len(current):
        return np.zeros(len(current), dtype=np.int64)
    if len(current) == 1:
        return np.array([100], dtype=np.int64)
    variance = variances_after(need, current, capacity)
    low, high = float(variance.min()), float(variance.max())
    if high == low:
        return np.zeros(len(current), dtype=np.int64)
    return np.trunc(100 - 100 * (variance - low) / (high - low)).astype(np.int64)


def variances_after(need: float, current: FloatArray, capacity: FloatArray) -> FloatArray:
    """Sample variance of load with the need added to each node in turn, shape (nodes,), nodes > 1.

    Sums are taken about the mean load, so that nothing is lost to cancellation.
    """
    load = current / capacity
    mean = load.mean()
    before, after = load - mean, (current + need) / capacity - mean
    total = before.sum() - before + after
    squares = np.square(before).sum() - np.square(before) + np.square(after)
    return np.asarray((squares - np.square(total) / len(load)) / (len(load) - 1))


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
