"""The two roundings of Go that decide scores: half away from zero, and division toward zero."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tracekit.base.arrays import IntArray
from tracekit.policy.placement._parts.formula import either

_INT64_MIN = np.iinfo(np.int64).min
_TOO_LARGE = 2.0**63


def half_away(values: ArrayLike) -> IntArray:
    """Nearest integer, halves away from zero (``math.Round``); same shape as ``values``."""
    return to_int(rounded(np.asarray(values, dtype=np.float64)))


def rounded(value: Any) -> Any:
    """``half_away`` as a float, for arrays and, compiled, for numbers."""
    whole = np.trunc(value)
    return either(np.abs(value - whole) >= 0.5, whole + np.copysign(1.0, value), whole)


def to_int(values: ArrayLike) -> IntArray:
    """Floats cut to int64; what does not fit becomes the least int64, as on x86-64."""
    given = np.asarray(values, dtype=np.float64)
    fits = np.abs(given) < _TOO_LARGE
    return np.where(fits, np.where(fits, given, 0.0).astype(np.int64), _INT64_MIN)


def divide(numerator: Any, denominator: Any) -> IntArray:
    """Integer quotient cut toward zero; 0 where the denominator is 0, for the caller to mask."""
    top, bottom = np.asarray(numerator, np.int64), np.asarray(denominator, np.int64)
    safe = np.where(bottom == 0, 1, bottom)
    quotient = np.abs(top) // np.abs(safe)
    signed = np.where((top < 0) != (safe < 0), -quotient, quotient)
    return np.asarray(np.where(bottom == 0, 0, signed))
