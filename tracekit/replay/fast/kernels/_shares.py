"""What kernels of the Kubernetes resource scorers share: which columns count, as numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.view.requested import Weights
from tracekit.replay.workload.resources import PODS, full_name, is_scalar

#: Largest capacity for which ``amount * 100 / capacity`` in doubles cuts to the exact quotient:
#: the product is exact, and a fraction that is not whole lies further from it than doubles round.
LARGEST_EXACT = 2**46


def weight_table(
    weights: Weights, resources: Sequence[str], allocatable: IntArray
) -> FloatArray | None:
    """Rows of (column, weight, whether it counts only when asked for), flattened.

    None where doubles could not tell exact quotients, or some node has nothing of a column.
    """
    rows = [
        (resources.index(full_name(short)), weight, is_scalar(full_name(short)))
        for short, weight in weights
        if full_name(short) in resources and full_name(short) != PODS
    ]
    columns = [column for column, _, _ in rows]
    if not rows or not exact_in_doubles(allocatable[:, columns]):
        return None
    return np.array(rows, dtype=np.float64).reshape(-1)


def exact_in_doubles(allocatable: IntArray) -> bool:
    """Whether every node has something, and integer percentages may be computed in doubles."""
    return bool(((allocatable > 0) & (allocatable < LARGEST_EXACT)).all())
