"""A broken linear function of utilisation, in integers.

Source: kubernetes v1.34 pkg/scheduler/framework/plugins/helper/shape_score.go.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracekit.arrays import IntArray
from tracekit.parameters import ParameterError
from tracekit.replay.placement._integers import divide

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
    """Raise ParameterError, naming the field as upstream does, for points that are none."""
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
