"""What a counter rose by where one replica of Prometheus ends and another one goes on."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tracekit.sources.own._prometheus_runs import stretches
from tracekit.sources.own._prometheus_series import Series
from tracekit.sources.silence import LEAST_MS, USUAL_DISTANCES

#: A sample: its time in ms, and its value.
_Sample = tuple[int, float]


@dataclass(kw_only=True)
class _Seen:
    """A stretch of samples of one replica; ``first`` is all that is kept of its series."""

    first: Series
    last: _Sample


class Seams:
    """Gathers how the replicas of a file begin and end: a few numbers for each of their series."""

    def __init__(self) -> None:
        self._seen: dict[int, list[_Seen]] = {}

    def note(self, series: Series) -> None:
        """Samples of a counter; of no interest where it names no replica."""
        if not series.number.replica:
            return
        times, values, runs = stretches(series)
        seen = self._seen.setdefault(series.number.counter, [])
        for first, last, usual_ms in runs:
            near = max(LEAST_MS, usual_ms * USUAL_DISTANCES)
            ends = int(times[last]), float(values[last])
            # the pieces of a series follow each other
            before = seen[-1] if seen and seen[-1].first.number == series.number else None
            if first == 0 and before and 0 < times[0] - before.last[0] <= near:
                before.last = ends
                continue
            begins = _only(series, [(int(times[first]), float(values[first]))])
            seen.append(_Seen(first=begins, last=ends))

    def series(self) -> Iterator[Series]:
        """Two samples for each seam: the last of the one replica, the first of the other."""
        for seen in self._seen.values():
            ordered = sorted(seen, key=lambda one: int(one.first.times_ms[0]))
            latest = ordered[0]
            for one in ordered[1:]:
                begins = int(one.first.times_ms[0]), float(one.first.values[0])
                other = one.first.number.replica != latest.first.number.replica
                if other and begins[0] > latest.last[0]:
                    yield _only(one.first, [latest.last, begins])
                latest = max(latest, one, key=lambda some: some.last[0])


def _only(series: Series, samples: list[_Sample]) -> Series:
    """A series with these samples alone."""
    times, values = zip(*samples, strict=True)
    return replace(
        series,
        times_ms=np.array(times, dtype=np.int64),
        values=np.array(values),
        ends_ms=np.zeros(0, dtype=np.int64),
    )
