"""Percentile request: one fixed size from a recorded hour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.base.parameters import About
from tracekit.sizing.policy import Advice, Given, Reads, SizingPolicy
from tracekit.sizing.use import RecordedUse
from tracekit.sizing.world.simulation import View


@dataclass(frozen=True, kw_only=True)
class PercentileRequest(SizingPolicy):
    """Request a percentile of a recorded profile, with a margin, as teams do.

    In the simulation the profile is the container's own needs in the first periods, which other
    policies but the oracle do not know in advance. From recorded use the profile is the whole use
    of the learning time.
    """

    source: ClassVar[str] = "common practice; percentile, margin and length of the profile are ours"
    reads: ClassVar[frozenset[Reads]] = frozenset({"profile"})

    percentile: Annotated[
        float, About("Percentile of the profile, 0..1.", minimum=0, maximum=1)
    ] = 0.95
    margin: Annotated[float, About("Share added to the percentile.", minimum=0)] = 0.15
    periods: Annotated[int, About("Length of the profile in periods.", minimum=1)] = 120

    def recommend(self, use: RecordedUse) -> Advice:
        """The percentile of all samples of each service's containers."""
        return Advice(use.quantiles(self.percentile)[:, :, 0] * (1 + self.margin))

    def profile_periods(self) -> int:
        """The length of the profile, by default an hour of periods of 30 s."""
        return self.periods

    def start(self, given: Given) -> Fixed:
        """A sizer with one fixed size for each container."""
        if given.profile is None:
            raise TypeError("percentile_request reads 'profile'")
        return Fixed(np.quantile(given.profile, self.percentile, axis=1) * (1 + self.margin))


class Fixed:
    """The same size of a container at every decision."""

    def __init__(self, wanted: FloatArray) -> None:
        self._wanted = wanted

    def size(self, view: View) -> FloatArray:
        """The fixed sizes, shape (due, 2)."""
        return self._wanted[view.due]
