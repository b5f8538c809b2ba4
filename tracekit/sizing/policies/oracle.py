"""Oracle: knows what the coming cycle will need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tracekit.base.arrays import FloatArray
from tracekit.sizing.policy import Advice, Given, Reads, SizingPolicy
from tracekit.sizing.use import RecordedUse
from tracekit.sizing.world.simulation import View


@dataclass(frozen=True, kw_only=True)
class Oracle(SizingPolicy):
    """The smallest size that the next cycle does not overflow: the bound of every real policy.

    Per cycle no size without overflow is used better; where a node has no room, or a need is
    beyond the largest size, it overflows too. As a request it is the largest use that is to come.
    """

    source: ClassVar[str] = "ours: perfect foresight of one cycle"
    reads: ClassVar[frozenset[Reads]] = frozenset({"ahead"})

    def start(self, given: Given) -> Foreseeing:  # noqa: ARG002 - it needs to know nothing more
        """A sizer that looks ahead."""
        return Foreseeing()

    def recommend(self, use: RecordedUse) -> Advice:
        """The largest use of each service's containers, by which it is judged."""
        return Advice(use.quantiles(1.0)[:, :, 0])


class Foreseeing:
    """Sizes by the largest need to come."""

    def size(self, view: View) -> FloatArray:
        """The largest need of the coming cycle."""
        return view.ahead()
