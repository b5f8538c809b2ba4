"""How a cost grows: the exponent of a power of the size, and whether it stays in its band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

#: Growth below these is within what two runs of the same differ by on an idle machine: no growth.
#: Of 64 MiB a process has some in more or fewer pieces of arenas than the next one.
LEAST_S, LEAST_MIB = 0.15, 64.0
#: So many times what runs of one size were seen to differ by is no growth either.
TIMES_SEEN = 2.0

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


def noise(again: Sequence[float], least: float) -> float:
    """Growth that may be none, by the costs of several runs of the smallest size."""
    return max(least, TIMES_SEEN * (max(again) - min(again)))


def exponent(sizes: Sequence[float], costs: Sequence[float], least: float) -> float:
    """The exponent ``k`` of ``cost = start + b * size**k``, 0 where the cost does not grow.

    Of the exponents tried, the one is taken whose curve, with a start and a ``b`` of at least 0,
    has the least sum of squares of relative errors.

    Parameters
    ----------
    sizes, costs : of at least five runs, ascending by size
    least : float
        What is added is no growth where it nowhere exceeds this; ``noise`` gives it.
    """
    if len(sizes) < 5 or list(sizes) != sorted(set(sizes)):
        raise ValueError(f"an exponent takes five sizes, ascending, not {list(sizes)}")
    given = np.asarray(costs, dtype=np.float64)
    if given.max() - given[0] < least:
        return 0.0
    ratios = np.divide(sizes, sizes[-1])
    curves = [np.stack([1 / given, ratios**power / given], axis=1) for power in _POWERS]
    return float(_POWERS[np.argmin([nnls(curve, np.ones(len(given)))[1] for curve in curves])])
