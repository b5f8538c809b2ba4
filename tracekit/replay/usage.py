"""Measured node usage, as far as a policy may know it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class NodeUsage(Protocol):
    """What monitoring knows; fractions are of node capacity, NaN where nothing was measured.

    ``column`` is the column of the resource, ``samples`` how many of the newest samples count
    (fewer where the history is shorter). Every answer has shape (nodes,).
    """

    time_ms: int | None

    def latest(self, column: int) -> FloatArray:
        """Fraction at the newest sample."""

    def average(self, column: int, samples: int) -> FloatArray:
        """Mean fraction over the newest samples."""

    def deviation(self, column: int, samples: int) -> FloatArray:
        """Population standard deviation of the fraction over the newest samples."""

    def peak(self, column: int, samples: int) -> FloatArray:
        """Largest fraction over the newest samples."""


class SeriesUsage:
    """Usage from series: holds copies of the samples up to the metric time and nothing later.

    Parameters
    ----------
    fractions : float64, shape (samples, nodes, resources)
        Use over capacity; the caller cuts at the metric time, the copy is made here.
    time_ms : int, optional
        Time of the newest sample; None when there is none yet.
    """

    def __init__(self, fractions: FloatArray, time_ms: int | None) -> None:
        self._fractions = fractions.copy()
        self._fractions.flags.writeable = False
        self.time_ms = time_ms

    @property
    def samples(self) -> int:
        """Number of samples known."""
        return int(self._fractions.shape[0])

    def latest(self, column: int) -> FloatArray:
        """Fraction at the newest sample, shape (nodes,)."""
        return self._nothing() if not self.samples else self._fractions[-1, :, column].copy()

    def average(self, column: int, samples: int) -> FloatArray:
        """Mean fraction over the newest samples, shape (nodes,)."""
        return self._over(column, samples, "mean")

    def deviation(self, column: int, samples: int) -> FloatArray:
        """Population standard deviation over the newest samples, shape (nodes,)."""
        return self._over(column, samples, "std")

    def peak(self, column: int, samples: int) -> FloatArray:
        """Largest fraction over the newest samples, shape (nodes,)."""
        return self._over(column, samples, "max")

    def _over(self, column: int, samples: int, how: str) -> FloatArray:
        if not self.samples:
            return self._nothing()
        window = self._fractions[-samples:, :, column]
        return np.asarray(getattr(window, how)(axis=0), dtype=np.float64)

    def _nothing(self) -> FloatArray:
        return np.full(self._fractions.shape[1], np.nan)
