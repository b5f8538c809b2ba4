"""Bisection over a number of nodes: the least at which something holds.

``ahead`` is called with the number that is tried next and the one after it, if that holds (upwards:
if it does not), so that both may be tried side by side. What is found does not depend on it.
"""

from collections.abc import Callable

Holds = Callable[[int], bool]
Ahead = Callable[[int, int], object]


def alone(*_: int) -> None:
    """Try nothing ahead."""


def fewest(holds: Holds, low: int, high: int, ahead: Ahead = alone) -> int:
    """The number that bisection finds: it holds there, and one less does not, or is below ``low``.

    ``high`` is known to hold.
    """
    while low < high:
        middle = (low + high) // 2
        ahead(middle, (low + middle) // 2)
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high


def fewest_around(
    holds: Holds, start: int, low: int, high: int, ahead: Ahead = alone
) -> int | None:
    """As ``fewest``, by steps that double away from ``start``; None where ``high`` fails too."""
    ahead(start, max(start - 1, low))
    if not holds(start):
        return fewest_from(holds, start, high, ahead)
    step, good = 1, start
    while good > low:
        less = max(good - step, low)
        ahead(less, max(less - 2 * step, low))
        if not holds(less):
            return fewest(holds, less + 1, good, ahead)
        good, step = less, step * 2
    return good


def fewest_from(holds: Holds, start: int, high: int, ahead: Ahead = alone) -> int | None:
    """The same upwards: it holds there, and one less does not, or is below ``start``."""
    step, more, failed = 1, start, start - 1
    while not holds(more):
        if more == high:
            return None
        failed, more, step = more, min(more + step, high), step * 2
        ahead(more, min(more + step, high))
    return fewest(holds, failed + 1, more, ahead)
