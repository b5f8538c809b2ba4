"""Natural logarithms of many numbers at once, without a branch, so that they go side by side."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.jit import compiled

#: Bits of a double: where the exponent begins, what of it is taken off.
_FRACTION_BITS = 52
_FRACTION = (1 << _FRACTION_BITS) - 1
_HALF = np.int64(1022) << _FRACTION_BITS
_ROOT = 0.7071067811865476

#: ln 2 in two parts, the first short enough that a whole multiple of it is exact.
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10


@compiled
def logarithms(values: FloatArray) -> FloatArray:
    """``ln`` of each value, to about one unit in the last place; 0 of what is not above 0.

    A value is ``2**e * m`` with m in 0.707..1.414, and ``ln m = 2 atanh((m - 1)/(m + 1))``, whose
    series has a ratio below 0.03. Values below 1e-300 are taken for 0.
    """
    bits = values.view(np.int64)
    found = np.empty(len(values))
    fractions = np.empty(len(values), np.int64)
    exponents = np.empty(len(values))
    for at in range(len(values)):
        exponents[at] = (bits[at] >> _FRACTION_BITS) - 1022
        fractions[at] = (bits[at] & _FRACTION) | _HALF
    halves = fractions.view(np.float64)
    for at in range(len(values)):
        low = halves[at] < _ROOT
        m = halves[at] * 2.0 if low else halves[at]
        e = exponents[at] - 1.0 if low else exponents[at]
        s = (m - 1.0) / (m + 1.0)
        z = s * s
        series = 1.0 / 21.0
        series = series * z + 1.0 / 19.0
        series = series * z + 1.0 / 17.0
        series = series * z + 1.0 / 15.0
        series = series * z + 1.0 / 13.0
        series = series * z + 1.0 / 11.0
        series = series * z + 1.0 / 9.0
        series = series * z + 1.0 / 7.0
        series = series * z + 1.0 / 5.0
        series = series * z + 1.0 / 3.0
        value = e * _LN2_HIGH + (2.0 * s + (2.0 * s * z * series + e * _LN2_LOW))
        found[at] = value if values[at] > 1e-300 else 0.0
    return found
