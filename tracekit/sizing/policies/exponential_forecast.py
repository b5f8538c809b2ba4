"""Exponential forecast: the weighted mean of recent use, and a number of deviations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.base.parameters import About
from tracekit.sizing.policy import Given, Reads, SizingPolicy
from tracekit.sizing.world.simulation import View


@dataclass(frozen=True, kw_only=True)
class ExponentialForecast(SizingPolicy):
    """The exponentially weighted mean of use plus deviations, with a margin.

    After an overflow the resource gets at least the next size, as use does not show a need above
    the limit.
    """

    source: ClassVar[str] = (
        "exponentially weighted mean and variance (Finch 2009, section 9); the rule is ours"
    )
    reads: ClassVar[frozenset[Reads]] = frozenset({"served"})

    half_life_periods: Annotated[
        float, About("Periods after which a sample has half its weight.", minimum=0.1)
    ] = 20.0
    deviations: Annotated[float, About("Standard deviations above the mean.", minimum=0)] = 3.0
    margin: Annotated[float, About("Share added to the forecast.", minimum=0)] = 0.1

    def start(self, given: Given) -> Forecasting:
        """A sizer without samples."""
        return Forecasting(self, given.containers)


class Forecasting:
    """The weighted mean and variance of every container's use."""

    def __init__(self, policy: ExponentialForecast, containers: int) -> None:
        self._policy = policy
        self._weight = 1.0 - 0.5 ** (1.0 / policy.half_life_periods)
        self._mean = np.zeros((containers, 2))
        self._variance = np.zeros((containers, 2))
        self._seen = 0

    def size(self, view: View) -> FloatArray:
        """The forecast, after an overflow at least the next size, shape (due, 2)."""
        for use in view.served(self._seen).swapaxes(0, 1):
            self._add(use)
        policy, due = self._policy, view.due
        spread = policy.deviations * np.sqrt(self._variance[due])
        wanted = (self._mean[due] + spread) * (1 + policy.margin)
        return np.where(view.overflowed, np.maximum(wanted, view.limit + 1), wanted)

    def _add(self, use: FloatArray) -> None:
        weight = self._weight if self._seen else 1.0
        off = use - self._mean
        self._mean += weight * off
        # the first sample is the mean, and says nothing of the variance
        self._variance = (1 - weight) * (self._variance + weight * off * off)
        self._seen += 1
