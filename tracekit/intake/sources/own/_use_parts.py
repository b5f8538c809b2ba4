"""The pod or node of a series, and the part of the use that a series holds.

The containers of a pod, the modes of a node's CPUs and the two metrics of a difference are parts
that add up at each time. All parts of a use must be in one file, but a counter goes on from one
file to the next.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import file_digest

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.files.places import open_whole
from tracekit.intake.sources._source import Opened
from tracekit.intake.sources.own._prometheus.counters import FETCH, SCHEMA, Ends
from tracekit.intake.sources.own._prometheus.forms import stated_name
from tracekit.intake.sources.own._prometheus.metrics import FORMERLY, QUERIES, USES, Use
from tracekit.intake.sources.own._prometheus.series import Series, apart_from_replica, read_series
from tracekit.intake.sources.own._roster import SERIES, Files, Roster, files_of, roster_of

#: Labels that divide a use into parts. Series with equal values were scraped twice, or are of
#: several starts of a container.
_DIVIDING = ("container", "interface", "cpu", "mode")
#: Values of the label ``container`` for a cgroup that is no container of a pod.
NO_CONTAINER = (None, "", "POD")
#: Queries whose answers are sums by pod or node.
_SUMMED = frozenset(query.name for query in QUERIES)

#: The kind of entity, the pod or node, the resource, and whether two metrics make a difference.
_Key = tuple[str, str, str, bool]


def part_of(series: Series, use: Use) -> tuple[object, ...]:
    """Return a key of the part of a use that a series measures, such as one CPU or one container.

    Two series with equal keys record the same part.
    """
    if use.sign:
        return (use.sign,)
    named = tuple((one, series.labels[one]) for one in _DIVIDING if series.labels.get(one))
    if named:
        return named
    return (series.name, *sorted(apart_from_replica(series.labels)))


def pod_of(series: Series) -> str:
    """Return the pod of a series, ``namespace/name``."""
    return f"{series.labels.get('namespace') or 'default'}/{series.labels.get('pod')}"


def node_of(labels: Mapping[str, str], roster: Roster) -> str:
    """Return the node that a series names, or else the node or the address of its exporter."""
    for label in ("node", "nodename", "kubernetes_node"):
        if labels.get(label):
            return str(labels[label])
    host = str(labels.get("instance", "")).rpartition(":")[0] or str(labels.get("instance", ""))
    return roster.state.instances.get(host, host)


def is_idle(labels: Mapping[str, str], use: Use) -> bool:
    """Return whether a series counts what is no use (``Use.without``), such as idle time."""
    return any(labels.get(label) in values for label, values in use.without)


@dataclass(kw_only=True)
class _Held:
    """The series of one use in a file: first and last time, parts, and whether they count up."""

    first_ms: int
    last_ms: int
    parts: set[tuple[object, ...]] = field(default_factory=set)
    counts: bool = False

    def clashes(self, other: _Held) -> bool:
        """Whether two files have parts of one use at the same time, and neither the whole use."""
        at_once = self.first_ms < other.last_ms and other.first_ms < self.last_ms
        return at_once and (self.parts != other.parts or (self.counts and other.counts))


@dataclass(frozen=True)
class _File:
    """The uses of a file, and the last samples of its counters."""

    opened: Opened
    held: Mapping[_Key, _Held]
    ends: pl.DataFrame


def ends_beside(opened: Opened, word: str) -> pl.DataFrame:
    """Return the last samples of counters in the other files of this ingest.

    Raises
    ------
    TracekitError
        If a file with an earlier name has, at the same time, other parts of the same use, or
        samples of the same counters.
    """
    files = files_of(opened, word)
    if len(files.series()) < 2:
        return pl.DataFrame(schema=SCHEMA)
    index = _index(files, frozenset(opened.stored_sizes))
    others = [one for one in index if one.opened.path != opened.path]
    for mine in (one for one in index if one.opened.path == opened.path):
        for other in others:
            if other.opened.path < opened.path:
                _check_apart(mine, other)
    return pl.concat([pl.DataFrame(schema=SCHEMA), *(one.ends for one in others)])


def _check_apart(mine: _File, other: _File) -> None:
    for key, held in mine.held.items():
        before = other.held.get(key)
        if before is not None and held.clashes(before):
            _, owner, resource, _ = key
            raise TracekitError(
                f"{mine.opened.name} and {other.opened.name} both have samples of {resource} of"
                f" {owner} at {max(held.first_ms, before.first_ms)}, its use only together",
                hint=FETCH,
            )


@functools.lru_cache(maxsize=2)
def _index(files: Files, stored: frozenset[str]) -> tuple[_File, ...]:
    """The uses of each file with series; of files with equal bytes only the first file."""
    roster = roster_of(files)
    distinct: dict[tuple[int, str], _File] = {}
    sizes = [one.path.stat().st_size for _, one in files.files]
    for size, (word, opened) in zip(sizes, files.files, strict=True):
        if word not in SERIES or (word == "range" and stated_name(opened) in _SUMMED):
            continue
        # only files of one size may have the same bytes
        same = (size, _digest(opened) if sizes.count(size) > 1 else "")
        distinct.setdefault(same, _held(word, opened, roster, stored))
    return tuple(distinct.values())


def _digest(opened: Opened) -> str:
    with open_whole(opened.path) as file:
        return file_digest(file, "sha256").hexdigest()


def _held(word: str, opened: Opened, roster: Roster, stored: Collection[str]) -> _File:
    held: dict[_Key, _Held] = {}
    ends = Ends()
    for series, use in _series(word, opened):
        counts = use.counter and series.raw and not is_idle(series.labels, use)
        if counts:
            ends.note(series)
        key = _key_of(series, use, roster, stored)
        if key is not None:
            first, last = int(series.times_ms.min()), int(series.times_ms.max())
            one = held.setdefault(key, _Held(first_ms=first, last_ms=last))
            one.first_ms, one.last_ms = min(first, one.first_ms), max(last, one.last_ms)
            one.parts.add(part_of(series, use))
            one.counts |= counts
    return _File(opened, held, ends.frame())


def _series(word: str, opened: Opened) -> Iterator[tuple[Series, Use]]:
    names = tuple(name.encode() for name in (*USES, *FORMERLY))
    for series in read_series(opened, word, USES.__contains__, parts=names):
        if isinstance(series, Series):
            yield series, USES[series.name]


def _key_of(series: Series, use: Use, roster: Roster, stored: Collection[str]) -> _Key | None:
    """The use that a series is a part of; None for a series that is a whole use, or none."""
    labels = series.labels
    if is_idle(labels, use):
        return None
    counts = use.counter and series.raw
    if not (use.sign or counts or any(labels.get(one) for one in _DIVIDING)):
        return None
    if use.fills == "node":
        node = node_of(labels, roster)
        owner = roster.node_called(node, stored) if node else ""
    else:
        inner = use.sandbox or counts or labels.get("container") not in NO_CONTAINER
        owner = pod_of(series) if labels.get("pod") and inner else ""
    return (use.fills, owner, use.resource, bool(use.sign)) if owner else None


#: The cgroup of a pod, by systemd or by cgroupfs.
_POD_CGROUP = re.compile(r"pod[0-9a-fA-F_-]+(\.slice)?$")


class PodCgroups:
    """A list of series of the cgroup around a pod's containers, which may be counted twice.

    Such a series has no label ``container``. It is left out if the containers have series of their
    own. Otherwise it stays, because some runtimes give no other.
    """

    def __init__(self) -> None:
        self._of: dict[tuple[str, str], set[int]] = {}
        self._apart: set[tuple[str, str]] = set()

    def note(self, series: Series, part: int) -> None:
        """Record a series and the number of its part (``Sums.part``)."""
        pod = pod_of(series) if series.raw else ""
        if series.labels.get("container"):
            self._apart.add((series.name, pod))
        else:
            self._of.setdefault((series.name, pod), set()).add(part)

    def numbers(self) -> set[int]:
        """Return the numbers of the parts to leave out. Call this after the last series."""
        return {part for of in self._apart for part in self._of.get(of, ())}


def of_whole_pod(series: Series) -> bool:
    """Return whether a scraped series is of the cgroup around all containers of a pod."""
    return bool(_POD_CGROUP.search(series.labels.get("id", "")))
