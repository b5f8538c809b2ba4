"""Arithmetic of the Liang scheduler extender: its scores added to those of the scheduler.

Source: github.com/adolphlwq/liang @56384517, and kube-scheduler's extender weighting:
``score * weight * (MaxNodeScore / MaxExtenderPriority)``, which is ten times the weight.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.policy.placement import PlacementPolicy, Reads, Scores
from tracekit.policy.placement._parts.load import has_room, used_amount
from tracekit.policy.placement.node_resources import BalancedAllocation, LeastAllocated
from tracekit.policy.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class SplitPolicy(PlacementPolicy):
    """Base of joint policies whose score combines a part per node and a part over all candidates.

    An engine may keep the part per node from one decision to the next.
    """

    joint: ClassVar[bool] = True

    def alone(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return the part of the score that depends on one node alone, shape (candidates,)."""
        raise NotImplementedError

    def joined(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return the part of the score that depends on all candidates, shape (candidates,)."""
        raise NotImplementedError

    def together(self, alone: Scores, joined: Scores) -> Scores:
        """Combine both parts into the score of all candidates, shape (candidates,)."""
        raise NotImplementedError

    def joined_is_cacheable(self, snapshot: Snapshot) -> bool:  # noqa: ARG002
        """Return whether an engine may keep the joined part while its three inputs do not change.

        The three inputs are the candidates, the measurements and the amounts of the container.
        """
        return False

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return the score from both parts; ``nodes`` are all candidates."""
        return self.together(
            self.alone(snapshot, container, nodes), self.joined(snapshot, container, nodes)
        )


Builtin = Literal["default", "none"]

#: MaxNodeScore over MaxExtenderPriority.
EXTENDER_FACTOR = 10

_LEAST, _BALANCED = LeastAllocated(), BalancedAllocation()


@dataclass(frozen=True, kw_only=True)
class ExtenderPolicy(SplitPolicy):
    """Base of the policies of the Liang extender, whose score is added to kube-scheduler's."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "usage"})
    weight: Annotated[
        int, About("Weight of the extender; its scores count ten times the weight.")
    ] = 1
    builtin: Annotated[
        Builtin,
        About("default: add least_allocated and balanced_allocation; none: the extender alone."),
    ] = "default"
    cache_ms: Annotated[
        int, About("Time between two fetches of metrics by the extender.", minimum=1)
    ] = 10_000

    def extender(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> IntArray:
        """Return the extender's score of each candidate, 0..100."""
        raise NotImplementedError

    def alone(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return the sum of kube-scheduler's scores that parameter ``builtin`` selects."""
        total = np.zeros(len(nodes), dtype=np.int64)
        for scores in self._builtin(snapshot, container, nodes).values():
            total += scores.astype(np.int64)
        return total

    def joined(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return the extender's score of each candidate, which depends on all of them, 0..100."""
        return self.extender(snapshot, container, nodes)

    def together(self, alone: Scores, joined: Scores) -> Scores:
        """Return the built-in scores plus ten times the weighted score of the extender."""
        return alone.astype(np.int64) + EXTENDER_FACTOR * self.weight * joined.astype(np.int64)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return the built-in scores and the extender's."""
        own = {"extender": self.extender(snapshot, container, nodes)}
        parts = {**self._builtin(snapshot, container, nodes), **own}
        return {name: part.astype(np.float64) for name, part in parts.items()}

    def metric_time_ms(self, now_ms: int) -> int:
        """Return the time of the extender's last fetch: ``now_ms`` rounded down to ``cache_ms``."""
        return now_ms // self.cache_ms * self.cache_ms

    def _builtin(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, Scores]:
        if self.builtin == "none":
            return {}
        return {
            "least_allocated": _LEAST.score(snapshot, container, nodes),
            "balanced_allocation": _BALANCED.score(snapshot, container, nodes),
        }


# Balanced load: the variance of load over the nodes after placing on each node. Source: BNP of
# github.com/adolphlwq/liang @56384517, which recomputes the variance for every node. As one load
# changes at a time, updating two sums gives the same number.


def balance_scores(need: float, current: FloatArray, capacity: FloatArray) -> IntArray:
    """Return scores by the variance of load after placing: 100 for the lowest, 0 for the highest.

    Parameters
    ----------
    need : float
        The request to be placed.
    current, capacity : float64, shape (nodes,)
        Nodes with ``need + current <= capacity``, all in one unit.

    Returns
    -------
    int64, shape (nodes,)
        ``trunc(100 - 100 (v - min) / (max - min))`` of each variance v in ``variances_after``; 100
        for a single node, 0 for nodes of equal variance, and 0 for a need of 0.
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
    """Return, for each node, the variance of all nodes' loads if the need is placed there.

    The result has shape (nodes,). It is the sample variance, so there must be two nodes or more.
    Sums are taken about the mean load, to avoid cancellation.
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
    """Return ``balance_scores`` of the container's request of one resource, shape (candidates,).

    The score is 0 for a node without room, and for all nodes if the cluster lacks the resource.
    """
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
