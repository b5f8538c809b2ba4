"""Rounding as Go does it, for kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracekit.replay.placement._integers import rounded


def half_away(value: float) -> Any:
    """The nearest whole number, halves away from zero; 0 of what is not a number."""
    return 0.0 if np.isnan(value) else rounded(value)
