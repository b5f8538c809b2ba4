"""Minimum selection (MS): the smallest size, one larger after each overflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.sizing.policy import Given, Reads, SizingPolicy
from tracekit.sizing.world.simulation import View


@dataclass(frozen=True, kw_only=True)
class MinimumSelection(SizingPolicy):
    """Start with one core and 1 GB, and add one of both after each overflow; never shrink."""

    source: ClassVar[str] = "MS of the CTM21 analysis (Yao et al. 2023), section 3.2; sizes ours"
    reads: ClassVar[frozenset[Reads]] = frozenset({"served"})

    def start(self, given: Given) -> Growing:
        """A sizer with all containers at the smallest size."""
        return Growing(np.ones(given.containers), float(given.settings.largest.min()))


class Growing:
    """Sizes with as many cores as GB, which grow by one of both after an overflow."""

    def __init__(self, size: FloatArray, largest: float) -> None:
        self._size = size
        self._largest = largest

    def size(self, view: View) -> FloatArray:
        """The present size, or the next size after an overflow, shape (due, 2)."""
        grown = self._size[view.due] + view.overflowed.any(axis=1)
        self._size[view.due] = np.minimum(grown, self._largest)
        return np.repeat(self._size[view.due, None], 2, axis=1)
