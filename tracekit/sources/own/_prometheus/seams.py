"""What a counter rose by where one replica of Prometheus ends and another one goes on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tracekit.sources.own._prometheus.replicas import apart_from_replica
from tracekit.sources.own._prometheus.runs import stretches
from tracekit.sources.own._prometheus.series import Series
from tracekit.sources.silence import LEAST_MS, USUAL_DISTANCES

#: A sample: its time in ms, and its value.
_Sample = tuple[int, float]


@dataclass(kw_only=True, slots=True)
class _Seen:
    """A stretch of samples of one replica, and of its series what names it."""

    name: str
    labels: Mapping[str, str]
    line: int
    replica: int
    first: _Sample
    last: _Sample

    def since(self, before: _Sample) -> Series:
        """A series of the sample before and its own first one."""
        times, values = zip(before, self.first, strict=True)
        return Series(
            name=self.name,
            labels=self.labels,
            line=self.line,
            raw=True,
            times_ms=np.array(times, dtype=np.int64),
            values=np.array(values),
        )


class Seams:
    """Gathers how the replicas of a file begin and end: a few numbers for each of their series.

    A series that names no replica is one, too: who adds the label begins another series. Of these
    the beginning and the end alone are kept, for most files have nothing else.
    """

    def __init__(self) -> None:
        self._seen: dict[int, list[_Seen]] = {}
        self._nameless: dict[int, tuple[int, _Sample, _Sample]] = {}

    def note(self, series: Series) -> None:
        """Samples of a counter."""
        counter, replica = series.number
        if not replica:
            self._note_nameless(counter, series)
            return
        times, values, runs = stretches(series)
        seen = self._seen.setdefault(counter, [])
        for first, last, usual_ms in runs:
            near = max(LEAST_MS, usual_ms * USUAL_DISTANCES)
            begins = int(times[first]), float(values[first])
            ends = int(times[last]), float(values[last])
            # the pieces of a series follow each other
            before = seen[-1] if seen and seen[-1].replica == replica else None
            if first == 0 and before and 0 < begins[0] - before.last[0] <= near:
                before.last = ends
                continue
            one = _Seen(
                name=series.name,
                labels=series.labels,
                line=series.line,
                replica=replica,
                first=begins,
                last=ends,
            )
            seen.append(one)

    def _note_nameless(self, counter: int, series: Series) -> None:
        begins = int(series.times_ms[0]), float(series.values[0])
        ends = int(series.times_ms[-1]), float(series.values[-1])
        line, first, last = self._nameless.get(counter, (series.line, begins, ends))
        self._nameless[counter] = line, min(first, begins), max(last, ends)

    def _with_nameless(self, counter: int, seen: list[_Seen]) -> list[_Seen]:
        """The stretches of a counter, with that of the series that names no replica, if any."""
        if counter not in self._nameless:
            return seen
        line, first, last = self._nameless[counter]
        one = _Seen(
            name=seen[0].name,
            labels=dict(apart_from_replica(seen[0].labels)),
            line=line,
            replica=0,
            first=first,
            last=last,
        )
        return [*seen, one]

    def series(self) -> Iterator[Series]:
        """Two samples for each seam: the last of the one replica, the first of the other."""
        for counter, named in self._seen.items():
            seen = self._with_nameless(counter, named)
            ordered = sorted(seen, key=lambda one: one.first[0])
            latest = ordered[0]
            for one in ordered[1:]:
                if one.replica != latest.replica and one.first[0] > latest.last[0]:
                    yield one.since(latest.last)
                latest = max(latest, one, key=lambda some: some.last[0])
