"""How a cost grows: the exponent of a power of the size, and whether it stays in its band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: Growth below these is within what two runs of the same differ by: no growth.
LEAST_S, LEAST_MIB = 0.15, 12.0

_POWERS = np.arange(0.05, 4.005, 0.01)


@dataclass(frozen=True, kw_only=True)
class Band:
    """Between which exponents a cost should grow, and why."""

    low: float
    high: float
    reason: str

    def holds(self, exponent: float) -> bool:
        """Whether the exponent is in the band."""
        return self.low <= exponent <= self.high


def exponent(sizes: Sequence[float], costs: Sequence[float], least: float) -> float:
    """The exponent ``k`` of ``cost = start + b * size**k``, 0 where the cost does not grow.

    What a process costs whatever the size falls out of differences from the first and smallest:
    ``b * (size**k - first**k)``. Of the exponents tried, the one is taken whose line is nearest to
    the logarithms of the differences, by least squares.

    Parameters
    ----------
    sizes, costs : of at least five runs, ascending by size
    least : float
        What is added is no growth where it nowhere exceeds this.
    """
    if len(sizes) < 5 or list(sizes) != sorted(set(sizes)):
        raise ValueError(f"an exponent takes five sizes, ascending, not {list(sizes)}")
    added = np.subtract(costs[1:], costs[0])
    if added.max() < least:
        return 0.0
    # runs that a busy neighbour made cheaper than the smallest: a hundredth of the largest
    added = np.maximum(added, added.max() / 100)
    ratios = np.divide(sizes, sizes[0])
    apart = [np.log(added) - np.log(ratios[1:] ** power - 1) for power in _POWERS]
    return float(_POWERS[np.argmin([np.var(one) for one in apart])])
