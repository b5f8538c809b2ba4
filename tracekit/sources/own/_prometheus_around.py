"""Leaves out the series of the cgroup around a pod's containers: they count the same use twice."""

import functools
import re
from collections.abc import Mapping

from tracekit.sources._cluster import Opened
from tracekit.sources.own._kubernetes_roster import Files, files_of
from tracekit.sources.own._prometheus_metrics import USES
from tracekit.sources.own._prometheus_series import Series, read_series

#: The cgroup of a pod, by systemd or by cgroupfs.
_POD_CGROUP = re.compile(r"pod[0-9a-fA-F_-]+(\.slice)?$")
#: Metrics that are of one container each; the answers to queries of ours are summed up by pod.
_OF_CONTAINERS = tuple(
    name
    for name, use in USES.items()
    if use.fills == "container" and not use.sandbox and not name.endswith("_in_use")
)
#: What the label ``container`` is of what is no container of a pod.
_NO_CONTAINER = (None, "", "POD")
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

    def parts(self, opened: Opened, word: str) -> set[int]:
        """What is left out, now that all series are known, those of files beside this one too."""
        found = {part for of in self._apart for part in self._of.get(of, ())}
        rest = {
            (name, self._pods[part], part): span
            for (name, _), some in self._of.items()
            for part, span in some.items()
            if part not in found
        }
        if not rest or len(files := files_of(opened, word).series()) < 2:
            return found
        seen = _containers(Files(files))
        for (name, pod, part), (first, last) in rest.items():
            begins, ends = seen.get((USES[name].resource, pod), (last + 1, last))
            if begins <= last and ends >= first:
                found.add(part)
        return found


@functools.lru_cache(maxsize=2)
def _containers(files: Files) -> Mapping[tuple[str, str], _Span]:
    """By resource and pod: when files have use of a container that they name."""
    found: dict[tuple[str, str], _Span] = {}
    parts = tuple(name.encode() for name in _OF_CONTAINERS)
    for word, opened in files.files:
        for series in read_series(opened, word, _OF_CONTAINERS.__contains__, parts=parts):
            if not isinstance(series, Series) or series.labels.get("container") in _NO_CONTAINER:
                continue
            key = USES[series.name].resource, pod_of(series)
            first, last = int(series.times_ms[0]), int(series.times_ms[-1])
            before = found.get(key, (first, last))
            found[key] = min(before[0], first), max(before[1], last)
    return found


def pod_of(series: Series) -> str:
    """The pod that a series is of, ``namespace/name``."""
    return f"{series.labels.get('namespace') or 'default'}/{series.labels.get('pod')}"


def of_whole_pod(series: Series) -> bool:
    """Whether a series as it was scraped is of the cgroup around all containers of a pod."""
    return bool(_POD_CGROUP.search(series.labels.get("id", "")))
