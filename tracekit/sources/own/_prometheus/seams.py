"""What a counter rose by since the sample before: of a piece, file or replica that went before."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tracekit.sources.own._prometheus.replicas import apart_from_replica
from tracekit.sources.own._prometheus.runs import Before, stretches
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
