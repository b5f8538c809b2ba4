"""Sums by group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


def sums(group: IntArray, amounts: FloatArray, groups: int) -> FloatArray:
    """Sum of the amounts of each group, in their order, shape (groups,)."""
    return np.asarray(np.bincount(group, amounts, groups), dtype=np.float64)
