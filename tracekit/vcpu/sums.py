"""Sums by group."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import FloatArray, IntArray


def sums(group: IntArray, amounts: FloatArray, groups: int) -> FloatArray:
    """Sum of the amounts of each group, in their order, shape (groups,)."""
    return np.asarray(np.bincount(group, amounts, groups), dtype=np.float64)
