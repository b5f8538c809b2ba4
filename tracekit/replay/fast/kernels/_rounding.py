"""Rounding as Go does it, compiled."""

from __future__ import annotations

import numpy as np

from tracekit.jit import compiled


@compiled
def half_away(value: float) -> float:
    """The nearest whole number, halves away from zero; 0 of what is not a number."""
    if np.isnan(value):
        return 0.0
    whole = np.trunc(value)
    return float(whole + np.copysign(1.0, value) if abs(value - whole) >= 0.5 else whole)
