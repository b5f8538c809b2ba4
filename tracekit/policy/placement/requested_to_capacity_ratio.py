"""Requested to capacity ratio: a piecewise linear function of the requested share."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About, ParameterError
from tracekit.policy.placement import Reads, ScoreError, Scores, UsedBy
from tracekit.policy.placement._parts.leftover import WeightedResources
from tracekit.policy.placement._parts.requested import divide, half_away
from tracekit.policy.placement._parts.shares import Share, shares
from tracekit.policy.view.snapshot import Container, Snapshot

# A piecewise linear function of utilisation, in integers. Source: kubernetes v1.34
# pkg/scheduler/framework/plugins/helper/shape_score.go.

Shape = tuple[tuple[int, int], ...]

#: Path of the shape in the scheduler's configuration, for errors.
FIELD = "scoringStrategy.shape"


def broken_linear(points: Sequence[Sequence[int]], at: IntArray) -> IntArray:
    """The function through ``points`` (x, y), x ascending, flat outside; shape of ``at``."""
    xs, ys = np.array(points, dtype=np.int64).reshape(-1, 2).T
    right = np.clip(np.searchsorted(xs, at, side="left"), 1, max(len(xs) - 1, 1))
    if len(xs) == 1:
        return np.full(at.shape, ys[0])
    left = right - 1
    rise, run = ys[right] - ys[left], xs[right] - xs[left]
    inside = np.clip(at, xs[0], xs[-1])
    return np.asarray(ys[left] + divide(rise * (inside - xs[left]), run))


def check_shape(shape: Shape) -> None:
    """Raise ParameterError with upstream's name of the field for an invalid point."""
    if not shape:
        raise ParameterError(FIELD, "shape has no point; at least one is needed")
    for at, (utilization, score) in enumerate(shape):
        if not 0 <= utilization <= 100:
            raise ParameterError(
                f"{FIELD}[{at}].utilization", f"utilization must be 0..100, got {utilization}"
            )
        if at and utilization <= shape[at - 1][0]:
            raise ParameterError(
                f"{FIELD}[{at}].utilization",
                f"utilization must rise from point to point, got {utilization} after"
                f" {shape[at - 1][0]}",
            )
        if not 0 <= score <= 10:
            raise ParameterError(f"{FIELD}[{at}].score", f"score must be 0..10, got {score}")


#: The score of a node, 0..100, over the score of a point, 0..10.
_SCALE = 10


@dataclass(frozen=True, kw_only=True)
class RequestedToCapacityRatio(WeightedResources):
    """Score each resource by a piecewise linear function of its requested percentage."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.34 noderesources/requested_to_capacity_ratio.go"
        " (NodeResourcesFit, RequestedToCapacityRatio)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"

    shape: Annotated[
        Shape, About("Points utilization:score of rising utilization 0..100 and score 0..10.")
    ] = ((0, 10), (100, 0))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shape(self.shape)

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """The weighted mean over resources with a score above 0, rounded, 0..100."""
        if not self.resources:
            raise ScoreError("requested_to_capacity_ratio has no resource to score by")
        total = np.zeros(len(nodes), dtype=np.int64)
        weight = np.zeros(len(nodes), dtype=np.int64)
        for share in shares(snapshot, container, nodes, self.resources, nonzero=True):
            part = self._part(share)
            counts = share.counted & (part > 0)
            total += np.where(counts, part * share.weight, 0)
            weight += np.where(counts, share.weight, 0)
        return half_away(total / np.maximum(weight, 1))

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """The score of each resource; a score of 0 does not enter the mean."""
        every = shares(snapshot, container, nodes, self.resources, nonzero=True)
        return {s.name: np.where(s.counted, self._part(s), np.nan) for s in every}

    def _part(self, share: Share) -> IntArray:
        percent = share.requested * 100 // np.maximum(share.allocatable, 1)
        capped = np.where(share.requested > share.allocatable, 100, percent)
        return np.asarray(_table(self.shape)[np.clip(capped, 0, 100)])


@functools.cache
def _table(shape: Shape) -> IntArray:
    """The score of each whole percentage, shape (101,)."""
    return broken_linear([(x, y * _SCALE) for x, y in shape], np.arange(101))
