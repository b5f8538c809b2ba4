"""Oracle: sizes by the needs of the coming cycle, which it knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tracekit.base.arrays import FloatArray
from tracekit.sizing.policy import Advice, Given, Reads, SizingPolicy
from tracekit.sizing.use import RecordedUse
from tracekit.sizing.world.simulation import View


@dataclass(frozen=True, kw_only=True)
class Oracle(SizingPolicy):
    """Choose the smallest size that the next cycle does not overflow: a bound for real policies.

    No other size without overflow is used better in a cycle. It overflows too if a node has no room
    or a need is above the largest size. As a request it is the largest use of the judged time.
    """

    source: ClassVar[str] = "ours: perfect foresight of one cycle"
    reads: ClassVar[frozenset[Reads]] = frozenset({"ahead"})

    def start(self, given: Given) -> Foreseeing:  # noqa: ARG002 - the view has all that it reads
        """A sizer that reads the coming needs."""
        return Foreseeing()

    def recommend(self, use: RecordedUse) -> Advice:
        """The largest use of each service's containers in the judged time."""
        return Advice(use.quantiles(1.0)[:, :, 0])


class Foreseeing:
    """Sizes by the largest need of the coming cycle."""

    def size(self, view: View) -> FloatArray:
        """The largest need of the coming cycle, shape (due, 2)."""
        return view.ahead()
