"""How far apart two requested fractions are at least, over the nodes a box could hold."""

from __future__ import annotations

from tracekit.arrays import FloatArray, IntArray
from tracekit.jit import compiled


@compiled
def least_gap(
    boxes: IntArray,
    one: int,
    other: int,
    count: int,
    ask: IntArray,
    most: float,
    gaps: FloatArray,
) -> None:
    """Write the least distance of the fractions of columns ``one`` and ``other`` of each box.

    Fractions are with the container, and no more than ``most``. Every step rounds monotonously, so
    that no node inside comes out closer.
    """
    for at in range(count):
        low = min((boxes[0, one, at] + ask[1, one]) / max(boxes[3, one, at], 1), most)
        high = min((boxes[1, one, at] + ask[1, one]) / max(boxes[2, one, at], 1), most)
        below = min((boxes[0, other, at] + ask[1, other]) / max(boxes[3, other, at], 1), most)
        above = min((boxes[1, other, at] + ask[1, other]) / max(boxes[2, other, at], 1), most)
        gaps[at] = max(low - above, below - high, 0.0)
