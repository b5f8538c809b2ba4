"""Leaves out the series of the cgroup around a pod's containers: they count the same use twice."""

import re

from tracekit.sources.own._pod_use.parts import Parts, pod_of
from tracekit.sources.own._prometheus.metrics import USES
from tracekit.sources.own._prometheus.series import Series

#: The cgroup of a pod, by systemd or by cgroupfs.
_POD_CGROUP = re.compile(r"pod[0-9a-fA-F_-]+(\.slice)?$")
#: From when until when something is seen.
_Span = tuple[int, int]


class Outer:
    """Series of pods without a container, where others name theirs.

    Those are of the cgroup around the containers, and count the same again. Where no container of
    the pod is seen they are all that is known of its use: some runtimes tell no more.
    """

    def __init__(self) -> None:
        self._of: dict[tuple[str, str], dict[int, _Span]] = {}
        self._apart: set[tuple[str, str]] = set()
        self._pods: dict[int, str] = {}

    def note(self, series: Series, part: int) -> None:
        """A series that was added; those of one answer are alike in what they name."""
        known = pod_of(series)
        pod = known if series.raw else ""
        if series.labels.get("container"):
            self._apart.add((series.name, pod))
        else:
            span = int(series.times_ms[0]), int(series.times_ms[-1])
            before = self._of.setdefault((series.name, pod), {}).get(part, span)
            self._of[series.name, pod][part] = min(before[0], span[0]), max(before[1], span[1])
            self._pods[part] = known

    def numbers(self, parts: Parts) -> set[int]:
        """What is left out, now that all series are known, those of files beside this one too."""
        found = {part for of in self._apart for part in self._of.get(of, ())}
        for (name, _), some in self._of.items():
            for part, (first, last) in some.items():
                spans = parts.spans(self._pods[part], USES[name].resource)
                if any(begins <= last and ends >= first for begins, ends in spans):
                    found.add(part)
        return found


def of_whole_pod(series: Series) -> bool:
    """Whether a series as it was scraped is of the cgroup around all containers of a pod."""
    return bool(_POD_CGROUP.search(series.labels.get("id", "")))
