"""How a cost grows: the exponent of a power of the size, its squared part, and their bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

#: Growth below these is within what two runs of the same differ by on an idle machine: no growth.
#: Of 64 MiB a process has some in more or fewer pieces of arenas than the next one.
LEAST_S, LEAST_MIB = 0.15, 64.0
#: So many times what the two cheapest runs of one size differ by is no growth either.
TIMES_SEEN = 2.0
#: A part that grows with the square of the size may cost this share of the part in proportion, at
#: the largest size. A logarithm over the sizes of the bench looks like 0.2 to 0.45 of it.
MOST_SQUARED = 0.5

_POWERS = np.arange(0.05, 4.005, 0.01)


@dataclass(frozen=True, kw_only=True)
class Band:
    """Between which exponents a cost should grow, the most of its squared part, and why."""

    low: float
    high: float
    reason: str
    squared: float = MOST_SQUARED

    def holds(self, exponent: float, squared: float) -> bool:
        """Whether the exponent and the share of the squared part are in the band."""
        return self.low <= exponent <= self.high and squared <= self.squared


def noise(again: Sequence[float], least: float) -> float:
    """Growth that may be none, by the costs of several runs of the smallest size.

    Others on the machine only add to a cost, so the cheapest run counts, and the next one tells
    how well it is known.
    """
    first, second, *_ = sorted(again)
    return max(least, TIMES_SEEN * (second - first))


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


def squared_share(sizes: Sequence[float], costs: Sequence[float], least: float) -> float:
    """What the part with the square of the size costs beside the part in proportion to it.

    That is ``c * n**2 / (b * n)`` at the largest size ``n`` of ``cost = a + b * n + c * n**2``,
    with no part below 0 and the least sum of squares of relative errors. It is 0 where the cost
    does not grow, or the squared part costs less than ``least``, and infinite without a part in
    proportion.
    """
    given, ratios = np.asarray(costs, dtype=np.float64), np.divide(sizes, sizes[-1])
    parts = np.stack([np.ones(len(given)), ratios, ratios**2], axis=1) / given[:, None]
    _, linear, squared = nnls(parts, np.ones(len(given)))[0]
    if given.max() - given[0] < least or squared < least:
        return 0.0
    return float(squared / linear) if linear else float("inf")
