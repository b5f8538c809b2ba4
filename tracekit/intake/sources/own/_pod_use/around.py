"""Leaves out the series of the cgroup around a pod's containers: they count the same use twice."""

import re

from tracekit.intake.sources.own._pod_use.parts import pod_of
from tracekit.intake.sources.own._prometheus.series import Series

#: The cgroup of a pod, by systemd or by cgroupfs.
_POD_CGROUP = re.compile(r"pod[0-9a-fA-F_-]+(\.slice)?$")


class Outer:
    """Series of pods without a container, where others name theirs.

    Those are of the cgroup around the containers, and count the same again. Where no container of
    the pod is seen they are all that is known of its use: some runtimes tell no more.
    """

    def __init__(self) -> None:
        self._of: dict[tuple[str, str], set[int]] = {}
        self._apart: set[tuple[str, str]] = set()

    def note(self, series: Series, part: int) -> None:
        """A series that was added; those of one answer are alike in what they name."""
        pod = pod_of(series) if series.raw else ""
        if series.labels.get("container"):
            self._apart.add((series.name, pod))
        else:
            self._of.setdefault((series.name, pod), set()).add(part)

    def numbers(self) -> set[int]:
        """What is left out, now that all series are known."""
        return {part for of in self._apart for part in self._of.get(of, ())}


def of_whole_pod(series: Series) -> bool:
    """Whether a series as it was scraped is of the cgroup around all containers of a pod."""
    return bool(_POD_CGROUP.search(series.labels.get("id", "")))
