"""Shapes of a series over time: a period, and a fall as over a cliff."""

import numpy as np

from tracekit.base.arrays import FloatArray

#: A fall explains at least this share of the variance, and is at least this deep.
_CLIFF_SHARE, _CLIFF_DEPTH = 0.75, 0.1
#: A period shows in so many turns at least, and has at least so many values.
_TURNS, _SHORTEST = 2, 2
#: By chance the strongest of all frequencies is above Fisher's limit once in so many series.
_CHANCE = 0.05


def has_period(series: FloatArray) -> bool:
    """Whether one frequency stands out beyond chance (Fisher's test of the periodogram).

    The trend is taken off first; frequencies with fewer than two turns are trends as well.
    """
    values = series[np.isfinite(series)]
    count = len(values)
    if count < 4 * _SHORTEST or not np.ptp(values):
        return False
    at = np.arange(count)
    flat = values - np.polyval(np.polyfit(at, values, 1), at)
    power = np.square(np.abs(np.fft.rfft(flat)))[1 : (count - 1) // 2 + 1]
    whole = power.sum()
    if whole <= 1e-12 * count:
        return False
    limit = 1 - (_CHANCE / len(power)) ** (1 / (len(power) - 1))
    strongest = int(np.argmax(power))
    return bool(strongest + 1 >= _TURNS and power[strongest] / whole > limit)


def has_cliff(series: FloatArray) -> bool:
    """Whether the series falls once, deep, and is level before and after."""
    values = series[np.isfinite(series)]
    count = len(values)
    variance = float(np.square(values - values.mean()).sum()) if count else 0.0
    if count < 4 or variance <= 1e-12:
        return False
    sums, cuts = np.cumsum(values), np.arange(1, count)
    before, after = sums[:-1] / cuts, (sums[-1] - sums[:-1]) / (count - cuts)
    explained = cuts * (count - cuts) / count * np.square(before - after) / variance
    at = int(np.argmax(explained))
    return bool(explained[at] >= _CLIFF_SHARE and before[at] - after[at] >= _CLIFF_DEPTH)
