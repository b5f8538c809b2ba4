"""Bisection over a number of nodes: the least at which something holds."""

from collections.abc import Callable


def fewest(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The number that bisection finds: it holds there, and one less does not, or is below ``low``.

    ``high`` is known to hold.
    """
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high


def fewest_around(holds: Callable[[int], bool], start: int, low: int, high: int) -> int | None:
    """As ``fewest``, by steps that double away from ``start``; None where ``high`` fails too."""
    if not holds(start):
        return fewest_from(holds, start, high)
    step, good = 1, start
    while good > low:
        less = max(good - step, low)
        if not holds(less):
            return fewest(holds, less + 1, good)
        good, step = less, step * 2
    return good


def fewest_from(holds: Callable[[int], bool], start: int, high: int) -> int | None:
    """The same upwards: it holds there, and one less does not, or is below ``start``."""
    step, more, failed = 1, start, start - 1
    while not holds(more):
        if more == high:
            return None
        failed, more, step = more, min(more + step, high), step * 2
    return fewest(holds, failed + 1, more)
