"""Placeholders for the parts that a kernel does not have; never called."""

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.replay.fast.kernels import bound_pointer, placed_pointer


def _bound(
    boxes: IntArray,  # noqa: ARG001
    ranges: FloatArray,  # noqa: ARG001
    count: int,
    first: IntArray,  # noqa: ARG001
    ask: IntArray,  # noqa: ARG001
    parameters: FloatArray,  # noqa: ARG001
    bounds: FloatArray,
) -> None:
    bounds[:count] = np.inf


def _placed(
    terms: FloatArray,  # noqa: ARG001
    state: IntArray,  # noqa: ARG001
    node: int,  # noqa: ARG001
    ask: IntArray,  # noqa: ARG001
    parameters: FloatArray,  # noqa: ARG001
) -> None:
    return


NO_BOUND, NO_PLACED = bound_pointer(_bound), placed_pointer(_placed)
