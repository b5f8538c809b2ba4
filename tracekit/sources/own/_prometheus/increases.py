"""What a counter rose by since the sample before, which may be in a piece or file from before."""

from collections.abc import Callable

import numpy as np

from tracekit.sources.own._prometheus.runs import Before
from tracekit.sources.own._prometheus.series import Series

#: Times, values, and the time since the sample before.
Samples = tuple[np.ndarray, np.ndarray, np.ndarray]


class Increases:
    """Follows series from piece to piece.

    Parameters
    ----------
    before : function of int
        What was before the stretches of a file, which is known by its number.
    """

    def __init__(self, before: Callable[[int], Before]) -> None:
        self._before = before
        self._last: dict[tuple[object, ...], tuple[int, float]] = {}

    def since_before(self, series: Series, file: int, *, rate: bool, followed: bool) -> Samples:
        """Samples with the time since the one before; those that are ``followed`` know their last.

        Of a counter the increase per second of that time; one that fell began again at 0.
        """
        times, values = series.times_ms, series.values
        first = int(times[0]), float(values[0])
        if followed:
            # an answer has all samples of a series in one piece
            of = file, series.name, *sorted(series.labels.items())
            first = self._last.get(of, first)
            self._last[of] = int(times[-1]), float(values[-1])
        times_before = np.concatenate([[first[0]], times[:-1]])
        if not rate:
            return times, values, times - times_before
        values_before = np.concatenate([[first[1]], values[:-1]])
        for begins, time_ms, value in self._before(file).of(*series.number):
            at = int(np.searchsorted(times, begins))
            begun = at < len(times) and times[at] == begins
            # what is woven of several files may have a later one
            if begun and (at == 0 or time_ms > times_before[at]):
                times_before[at], values_before[at] = time_ms, value
        passed = times - times_before
        more = values - values_before
        more = np.where(more < 0, values, more)
        good = passed > 0
        return times[good], more[good] / (passed[good] / 1000.0), passed[good]
