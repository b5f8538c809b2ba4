"""Whose use a series is, and which part of it; files that have parts of one use are refused.

The containers of a pod, the modes of a node's CPUs and the two metrics of a difference add up at
each time, within one file. A counter goes on from one file to the next.
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
from tracekit.intake.sources._cluster import Opened
from tracekit.intake.sources.own._prometheus.counters import FETCH, SCHEMA, Ends
from tracekit.intake.sources.own._prometheus.forms import stated_name
from tracekit.intake.sources.own._prometheus.metrics import FORMERLY, QUERIES, USES, Use
from tracekit.intake.sources.own._prometheus.series import Series, apart_from_replica, read_series
from tracekit.intake.sources.own._roster.roster import SERIES, Files, Roster, files_of, roster_of

#: What of a pod or node a series is. Series alike in these differ in who scraped them, or in which
#: start of a container they saw.
_DIVIDING = ("container", "interface", "cpu", "mode")
#: What the label ``container`` is of what is no container of a pod.
NO_CONTAINER = (None, "", "POD")
#: The answers to these are summed up by pod or node.
_SUMMED = frozenset(query.name for query in QUERIES)

#: The table, the pod or node, the resource, and whether it is a difference.
_Key = tuple[str, str, str, bool]


def part_of(series: Series, use: Use) -> tuple[object, ...]:
    """What a series is beside others of its pod or node; equal for what is the same seen twice."""
    if use.sign:
        return (use.sign,)
    named = tuple((one, series.labels[one]) for one in _DIVIDING if series.labels.get(one))
    if named:
        return named
    return (series.name, *sorted(apart_from_replica(series.labels)))


def pod_of(series: Series) -> str:
    """The pod that a series is of, ``namespace/name``."""
    return f"{series.labels.get('namespace') or 'default'}/{series.labels.get('pod')}"


def node_of(labels: Mapping[str, str], known: Roster) -> str:
    """A node by its name, else by the address of the exporter on it."""
    for label in ("node", "nodename", "kubernetes_node"):
        if labels.get(label):
            return str(labels[label])
    host = str(labels.get("instance", "")).rpartition(":")[0] or str(labels.get("instance", ""))
    return known.state.instances.get(host, host)


def is_idle(labels: Mapping[str, str], use: Use) -> bool:
    """Whether a series is of what is not at work."""
    return any(labels.get(label) in values for label, values in use.without)


@dataclass(kw_only=True)
class _Held:
    """What a file has of one use: its parts, whether they are counters, from when until when."""

    first_ms: int
    last_ms: int
    parts: set[tuple[object, ...]] = field(default_factory=set)
    counts: bool = False

    def clashes(self, other: _Held) -> bool:
        """Whether both have some of it at one time that makes one only together."""
        at_once = self.first_ms < other.last_ms and other.first_ms < self.last_ms
        return at_once and (self.parts != other.parts or (self.counts and other.counts))


@dataclass(frozen=True)
class _File:
    """What a file has of each use, and the ends of its counters."""

    opened: Opened
    held: Mapping[_Key, _Held]
    ends: pl.DataFrame


def ends_beside(opened: Opened, word: str) -> pl.DataFrame:
    """The ends of counters in the files beside one.

    Raises
    ------
    TracekitError
        Where a file before it, by name, has other parts of the same use, or samples of the same
        counters, at one time.
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
            _, whose, resource, _ = key
            raise TracekitError(
                f"{mine.opened.name} and {other.opened.name} both have samples of {resource} of"
                f" {whose} at {max(held.first_ms, before.first_ms)}, its use only together",
                hint=FETCH,
            )


@functools.lru_cache(maxsize=2)
def _index(files: Files, stored: frozenset[str]) -> tuple[_File, ...]:
    """What each file with series has; of files with the same bytes the first one's."""
    known = roster_of(files)
    found: dict[tuple[int, str], _File] = {}
    sizes = [one.path.stat().st_size for _, one in files.files]
    for size, (word, opened) in zip(sizes, files.files, strict=True):
        if word not in SERIES or (word == "range" and stated_name(opened) in _SUMMED):
            continue
        # only files of one size may have the same bytes
        same = (size, _digest(opened) if sizes.count(size) > 1 else "")
        found.setdefault(same, _held(word, opened, known, stored))
    return tuple(found.values())


def _digest(opened: Opened) -> str:
    with open_whole(opened.path) as file:
        return file_digest(file, "sha256").hexdigest()


def _held(word: str, opened: Opened, known: Roster, stored: Collection[str]) -> _File:
    held: dict[_Key, _Held] = {}
    ends = Ends()
    for series, use in _series(word, opened):
        counts = use.counter and series.raw and not is_idle(series.labels, use)
        if counts:
            ends.note(series)
        key = _key_of(series, use, known, stored)
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


def _key_of(series: Series, use: Use, known: Roster, stored: Collection[str]) -> _Key | None:
    """Whose use a series is a part of; None where it is no part of any, or the whole."""
    labels = series.labels
    if is_idle(labels, use):
        return None
    counts = use.counter and series.raw
    if not (use.sign or counts or any(labels.get(one) for one in _DIVIDING)):
        return None
    if use.fills == "node":
        node = node_of(labels, known)
        whose = known.node_called(node, stored) if node else ""
    else:
        inner = use.sandbox or counts or labels.get("container") not in NO_CONTAINER
        whose = pod_of(series) if labels.get("pod") and inner else ""
    return (use.fills, whose, use.resource, bool(use.sign)) if whose else None


# Leaves out the series of the cgroup around a pod's containers: they count the same use twice.

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
