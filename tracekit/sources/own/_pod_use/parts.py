"""Whose use a series is, and which part of it; where parts lie in several files, who adds them up.

The containers of a pod, the modes of a node's CPUs and the two metrics of a difference add up at
each time. Where they lie in several files of one time, one of these files takes them all, and so it
does where one has samples of a counter between those of another.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracekit.sources._cluster import Opened
from tracekit.sources.own._prometheus.forms import stated_name
from tracekit.sources.own._prometheus.metrics import FORMERLY, QUERIES, USES, Use
from tracekit.sources.own._prometheus.replicas import apart_from_replica
from tracekit.sources.own._prometheus.runs import Followed, Part, Runs, parts_of
from tracekit.sources.own._prometheus.series import Series, read_series
from tracekit.sources.own._roster.roster import (
    SERIES,
    Files,
    Roster,
    files_of,
    roster,
    roster_of,
)

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


@dataclass(kw_only=True)
class _Held:
    """The parts and counters that a file holds, from when until when."""

    parts: set[tuple[object, ...]]
    counters: set[int]
    first_ms: int
    last_ms: int


class Parts:
    """Which parts this file leaves to another, and which it takes from others.

    Attributes
    ----------
    file : int
        The number of this file.
    followed : Followed
        What is before the samples of each file.
    """

    def __init__(self, opened: Opened, word: str, known: Roster) -> None:
        self._known, self._stored = known, frozenset(opened.stored_sizes)
        self._files = files_of(opened, word)
        every = self._files.files
        self.file = next(at for at, (_, one) in enumerate(every) if one.path == opened.path)
        self._index, self.followed = _index(self._files, self._stored, parts_of(opened))
        self.before = functools.cache(self.followed.of)
        #: Of what is divided here: the file that takes it, and those it is taken from.
        self._owner: dict[_Key, tuple[int, list[int]]] = {}
        for key, held in self._index.items():
            some = _at_one_time(held, self.file) if self.file in held else []
            woven = any(self.followed.woven & held[one].counters for one in some)
            if woven or _divided(held, some):
                # what was scraped is put on a grid, and answers with it
                owner = min(some, key=lambda one: (every[one][0] == "range", one))
                self._owner[key] = owner, some

    def elsewhere(self, series: Series, use: Use) -> bool:
        """Whether another file takes it."""
        key = _key_of(series, use, self._known, self._stored) if self._owner else None
        return key in self._owner and self._owner[key][0] != self.file

    def woven(self, series: Series, use: Use) -> int | None:
        """The number of a counter of which files have samples between each other's, else None."""
        if not self.followed.woven or not (use.counter and series.raw):
            return None
        number = series.number.counter
        if number not in self.followed.woven:
            return None
        return number if _key_of(series, use, self._known, self._stored) in self._owner else None

    @property
    def step_ms(self) -> int:
        """The step of files that are too short to state one; 1 where none is known."""
        return self.followed.step_ms

    def taken(self) -> Iterator[tuple[int, Series]]:
        """The series of other files that this one takes, each with the number of its file."""
        mine = {key: some for key, (owner, some) in self._owner.items() if owner == self.file}
        for at in sorted({one for some in mine.values() for one in some} - {self.file}):
            for series, use in _series(*self._files.files[at]):
                key = _key_of(series, use, self._known, self._stored)
                if key is not None and at in mine.get(key, ()):
                    yield at, series

    def shared(self) -> frozenset[Path]:
        """The files with which this one shares what it holds."""
        some = {at for _, group in self._owner.values() for at in group if at != self.file}
        return frozenset(self._files.files[at][1].path for at in some)

    def precedes(self) -> frozenset[Path]:
        """The files whose first increases count since samples of this one."""
        return frozenset(self._files.files[at][1].path for at in self.followed.precedes(self.file))

    def spans(self, pod: str, resource: str) -> Iterator[tuple[int, int]]:
        """From when until when each file has containers of a pod by their names."""
        for held in self._index.get(("container", pod, resource, False), {}).values():
            yield held.first_ms, held.last_ms


def sharing(word: str, opened: Opened) -> frozenset[Path]:
    """The files with which a file shares the use of a pod or node."""
    return Parts(opened, word, roster(opened, word)).shared()


def preceding(word: str, opened: Opened) -> frozenset[Path]:
    """The files that go on with counters where a file ends."""
    return Parts(opened, word, roster(opened, word)).precedes()


def _divided(held: Mapping[int, _Held], some: Collection[int]) -> bool:
    """Whether some files hold other parts than the others."""
    parts = [held[one].parts for one in some]
    return any(one != parts[0] for one in parts[1:])


def _at_one_time(held: Mapping[int, _Held], mine: int) -> list[int]:
    """The files whose time overlaps with that of one, or with that of another such file."""
    group: list[int] = []
    end = None
    for at in sorted(held, key=lambda one: (held[one].first_ms, one)):
        if end is None or held[at].first_ms > end:
            if mine in group:
                break
            group, end = [], held[at].last_ms
        group.append(at)
        end = max(end, held[at].last_ms)
    return group


@functools.lru_cache(maxsize=2)
def _index(
    files: Files, stored: frozenset[str], ends: tuple[Part, ...]
) -> tuple[Mapping[_Key, dict[int, _Held]], Followed]:
    """What each file holds in parts, empty where only one has any; and what goes on where."""
    found: dict[_Key, dict[int, _Held]] = {}
    runs = Runs()
    several = len(files.series()) > 1
    if not several and not ends:
        return found, Followed(runs.frame(), ends)
    known = roster_of(files)
    for at, (word, opened) in enumerate(files.files):
        if word not in SERIES or (word == "range" and stated_name(opened) in _SUMMED):
            continue
        for series, use in _series(word, opened):
            counts = use.counter and series.raw and not is_idle(series.labels, use)
            if counts:
                runs.note(series, at)
            key = _key_of(series, use, known, stored) if several else None
            if key is not None:
                of = found.setdefault(key, {})
                _note(of, at, part_of(series, use), series.times_ms)
                of[at].counters |= {series.number.counter} if counts else set()
    return found, Followed(runs.frame(), ends)


def is_idle(labels: Mapping[str, str], use: Use) -> bool:
    """Whether a series is of what is not at work."""
    return any(labels.get(label) in values for label, values in use.without)


def _note(of: dict[int, _Held], at: int, part: tuple[object, ...], times_ms: np.ndarray) -> None:
    first, last = int(times_ms[0]), int(times_ms[-1])
    held = of.get(at)
    if held is None:
        of[at] = _Held(parts={part}, counters=set(), first_ms=first, last_ms=last)
    else:
        held.parts.add(part)
        held.first_ms, held.last_ms = min(first, held.first_ms), max(last, held.last_ms)


def _series(word: str, opened: Opened) -> Iterator[tuple[Series, Use]]:
    names = tuple(name.encode() for name in (*USES, *FORMERLY))
    for series in read_series(opened, word, USES.__contains__, parts=names):
        if isinstance(series, Series):
            yield series, USES[series.name]


def _key_of(series: Series, use: Use, known: Roster, stored: Collection[str]) -> _Key | None:
    """Whose use a series is a part of; None where it is no part of any, or the whole.

    A counter of the whole is its own: samples of it may lie in several files.
    """
    labels = series.labels
    if is_idle(labels, use):
        return None
    if not use.sign and not any(labels.get(one) for one in _DIVIDING):
        if not (use.counter and series.raw and (labels.get("pod") or use.fills == "node")):
            return None
        return ("series", f"{series.number.counter:016x}", use.resource, False)
    if use.fills == "node":
        node = node_of(labels, known)
        whose = known.node_called(node, stored) if node else ""
    else:
        inner = use.sandbox or labels.get("container") not in NO_CONTAINER
        whose = pod_of(series) if labels.get("pod") and inner else ""
    return (use.fills, whose, use.resource, bool(use.sign)) if whose else None
