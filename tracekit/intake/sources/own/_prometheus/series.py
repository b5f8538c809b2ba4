"""Reads time series from the files of Prometheus and VictoriaMetrics."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from tracekit.intake.sources._source import Broken, Opened
from tracekit.intake.sources.own._impossible_use import check_times
from tracekit.intake.sources.own._json_items import BrokenItem, first_members, items
from tracekit.intake.sources.own._prometheus.forms import (
    CUT_AT_LINE,
    CUT_IN_LINE,
    HEAD_BYTES,
    NAMELESS,
    HeadParts,
    Unread,
    as_number,
    as_text,
    head_of,
    holds_prints,
    in_seconds,
    is_empty_answer,
    is_open_metrics,
    labels_of,
    no_amount,
    not_a_time,
    parts_of,
    printed,
    renamed,
    warned,
)
from tracekit.intake.sources.own._prometheus.metrics import called_now, name_in

#: Labels that name a replica of Prometheus. Series that differ only in them are one counter.
_LABELS = ("prometheus_replica", "__replica__", "replica")
_COUNTER_BYTES = 8


class CounterHash(NamedTuple):
    """A hash of a counter's name and labels, equal in every file, and its replica of Prometheus.

    ``replica`` is empty if no label names one.
    """

    counter: int
    replica: str

    @property
    def text(self) -> str:
        """The hash in hexadecimal, as in the table ``counter_end``."""
        return f"{self.counter:0{2 * _COUNTER_BYTES}x}"


def number_of(name: str, labels: Mapping[str, str]) -> CounterHash:
    """Return the ``CounterHash`` of a series with this name and these labels."""
    text = json.dumps([name, sorted(apart_from_replica(labels))]).encode()
    counter = int.from_bytes(blake2b(text, digest_size=_COUNTER_BYTES).digest())
    return CounterHash(counter, next((labels[one] for one in _LABELS if labels.get(one)), ""))


def apart_from_replica(labels: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """Return the labels of a series without those that name a replica."""
    return (one for one in labels.items() if one[0] not in _LABELS)


_BLOCK_BYTES = 4 << 20
#: The first bytes of a dump.
_DUMPED = b"{__name__="
#: An infinite number of VictoriaMetrics.
_INFINITE = re.compile(rb"(?<=[\[,])\s*\+?(-?)Inf(?=\s*[,\]])")
#: The table of rejects of unreadable series.
_TABLE = "container_amount"


@dataclass(frozen=True, kw_only=True)
class Series:
    """The samples of one series in a file, or a part of them, as ``read_series`` yields them.

    Parameters
    ----------
    labels : mapping of str to str
        The labels without ``__name__``.
    line : int
        The line of the first sample, or the number of the series in the file, from 1.
    raw : bool
        Whether the series was scraped; False for the result of a query.
    times_ms : int64, shape (samples,)
    values : float64, shape (samples,)
        Finite values.
    ends_ms : int64, shape (ends,)
        The times of stale markers (NaN), at which the series ends.
    """

    name: str
    labels: Mapping[str, str]
    line: int
    raw: bool
    times_ms: np.ndarray
    values: np.ndarray
    ends_ms: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @cached_property
    def number(self) -> CounterHash:
        """The hash of the series' name and labels, with its replica."""
        return number_of(self.name, self.labels)


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """The names to read.

    Parameters
    ----------
    wanted : callable
        Whether a name is to be read.
    parts : tuple of bytes
        Each name contains one of these; empty: unknown.
    dumped : bool
        Whether each line begins with a brace, as in a dump.
    """

    wanted: Callable[[str], bool]
    parts: tuple[bytes, ...]
    dumped: bool = False

    def may_be_in(self, data: bytes) -> bool:
        """Whether some bytes may contain a name to read."""
        return not self.parts or any(part in data for part in self.parts)


def read_series(
    opened: Opened, word: str, wanted: Callable[[str], bool], *, parts: tuple[bytes, ...] = ()
) -> Iterator[Series | Broken]:
    """Yield the series of a file whose names are wanted, and the rejects.

    Parameters
    ----------
    word : {'range', 'export', 'text'}
        The form of the file.
    wanted : callable
        Takes a name; returns whether to read it.
    parts : tuple of bytes
        Every wanted name contains one of these texts, so other lines can be skipped; may be empty.
    """
    forms = {"range": _ranges, "export": _exports, "text": _texts}
    return forms[word](opened, _Wanted(wanted=wanted, parts=parts))


def _ranges(opened: Opened, names: _Wanted) -> Iterator[Series | Broken]:
    head = head_of(opened)
    if holds_prints(head):
        yield from _prints(opened, names)
        return
    name = first_members(head).get("name")
    if name is not None and not names.may_be_in(str(name).encode()):
        return
    beside: list[dict[str, Any]] = []
    for item in items(opened, beside=beside):
        if isinstance(item, BrokenItem):
            yield _broken(item.number, item.reason, item.text)
            continue
        value = item.value
        if is_empty_answer(value, opened.name):
            continue
        try:
            labels = dict(value["metric"])
            samples = value["values"] if "values" in value else [value["value"]]
        except (KeyError, TypeError, ValueError):
            yield _broken(item.number, "is no series: expected metric and values", value)
            continue
        raw = "__name__" in labels
        name = labels.pop("__name__", None) or item.around.get("name") or name_in(head.name)
        if name is None:
            yield _broken(item.number, NAMELESS, labels)
            continue
        name, labels = called_now(name, labels)
        if names.wanted(name):
            yield from _answered(name, labels, item.number, samples, file=opened.name, raw=raw)
    for number, (reason, warning) in enumerate(warned(beside), start=1):
        yield _broken(number, reason, warning)


def _answered(
    name: str, labels: dict[str, str], number: int, samples: Any, *, file: str, raw: bool
) -> Iterator[Series | Broken]:
    try:
        times = [time for time, _ in samples]
        texts = [text for _, text in samples]
    except (TypeError, ValueError):
        yield _broken(number, "is no series: expected pairs of time and value", labels)
        return
    lines = [number] * len(times)
    yield from _series(name, labels, lines, times, texts, file=file, raw=raw, scale=1000.0)


def _prints(opened: Opened, names: _Wanted) -> Iterator[Series | Broken]:
    """The series that promtool prints; a series without a name has the name of its file."""
    of_file = name_in(PurePath(opened.name).name)
    with opened.stream() as stream:
        for one in printed(stream):
            if isinstance(one, Unread):
                reason = "is neither a series nor a sample: expected value @[time]"
                yield _broken(one.line, reason, as_text(one.text))
                continue
            if not names.may_be_in(one.head + (of_file or "").encode()):
                continue
            parts = labels_of(one.head)
            if parts is None:
                yield _broken(one.line, "has labels that cannot be read", as_text(one.head))
                continue
            stated, labels = parts
            if not (stated or of_file):
                yield _broken(one.line, NAMELESS, labels)
                continue
            name, labels = called_now(stated or of_file or "", labels)
            if names.wanted(name) and one.samples:
                lines, values, times = zip(*one.samples, strict=True)
                yield from _series(
                    name, labels, lines, times, values, file=opened.name, raw=bool(stated),
                    scale=1000.0,
                )  # fmt: skip


def _exports(opened: Opened, names: _Wanted) -> Iterator[Series | Broken]:
    with opened.stream() as stream:
        for line, text in enumerate(stream, start=1):
            if not text.strip() or not names.may_be_in(text):
                continue
            try:
                value = _export(text)
                labels = dict(value["metric"])
                times, values = value["timestamps"], value["values"]
                if len(times) != len(values):
                    reason = f"has {len(times)} timestamps for {len(values)} values"
                    yield _broken(line, reason, labels)
                    continue
            except (ValueError, KeyError, TypeError) as error:
                yield _broken(line, f"is no series: {error}", text.decode(errors="replace"))
                continue
            name, labels = called_now(labels.pop("__name__", ""), labels)
            if names.wanted(name):
                lines = [line] * len(times)
                yield from _series(
                    name, labels, lines, times, values, file=opened.name, raw=True, scale=1.0
                )


def _export(text: bytes) -> Any:
    """Decode a line of an export, also with ``+Inf``, which is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        before, values, after = text.partition(b'"values":')
        mended = _INFINITE.sub(rb"\1Infinity", after)
        return json.loads(before + values + mended)


def _series(
    name: str,
    labels: dict[str, str],
    lines: Sequence[int],
    times: Sequence[Any],
    texts: Sequence[Any],
    *,
    file: str,
    raw: bool,
    scale: float,
) -> Iterator[Series | Broken]:
    """Yield the series of the finite samples, and a reject for each other sample.

    A negative sample of use is a reject, because it would make a spike in the next rate. A negative
    request is rejected later, as a request.

    Raises TracekitError for times in another unit.
    """
    labels = renamed(name, labels)
    try:
        at = np.asarray(times, dtype=np.float64)
        values = np.asarray(texts, dtype=np.float64)
    except (TypeError, ValueError):
        at, values = (np.array([as_number(one) for one in some]) for some in (times, texts))
    good = np.isfinite(at) & np.isfinite(values)
    if not name.startswith("kube_"):
        good &= ~(values < 0)
    for place in [] if good.all() else np.flatnonzero(~good).tolist():
        shown = f"{name}{json.dumps(labels)}"
        time, text = (as_text(some[place]) for some in (times, texts))
        reason = no_amount(text) if math.isfinite(at[place]) else not_a_time(time)
        yield _broken(lines[place], reason, f"{shown} {text} at {time}")
    if good.any():
        check_times(file, at[good], in_seconds=scale > 1.0)
        ended = np.isfinite(at) & np.isnan(values)
        yield Series(
            name=name,
            labels=labels,
            line=lines[int(np.flatnonzero(good)[0])],
            raw=raw,
            times_ms=np.rint(at[good] * scale).astype(np.int64),
            values=values[good],
            ends_ms=np.rint(at[ended] * scale).astype(np.int64),
        )


def _texts(opened: Opened, names: _Wanted) -> Iterator[Series | Broken]:
    heads: dict[bytes, HeadParts] = {}
    names = replace(names, dumped=head_of(opened).start.lstrip().startswith(_DUMPED))
    first, rest, last = 1, b"", b""
    with opened.stream() as stream:
        while data := stream.read(_BLOCK_BYTES):
            cut = data.rfind(b"\n") + 1
            block, rest = (rest + data[:cut], data[cut:]) if cut else (b"", rest + data)
            yield from _block(opened.name, block, first, heads, names)
            first += block.count(b"\n")
            last = block.rstrip()[-HEAD_BYTES:].rpartition(b"\n")[2] or last
    if names.may_be_in(rest) and rest.strip() and not rest.startswith(b"#"):
        yield _broken(first, CUT_IN_LINE, as_text(rest))
    elif not rest.strip() and is_open_metrics(last):
        yield _broken(first - 1, CUT_AT_LINE, as_text(last))


def _block(
    file: str, block: bytes, first: int, heads: dict[bytes, HeadParts], names: _Wanted
) -> Iterator[Series | Broken]:
    """Yield the series of a block of whole lines, each with its samples of the block."""
    if not names.may_be_in(block):
        return
    samples_of: dict[bytes, list[tuple[int, bytes, bytes]]] = {}
    for line, text in enumerate(block.split(b"\n"), start=first):
        if text.startswith(b"#") or not text.strip():
            continue
        head, value, time = parts_of(text)
        # a line of a dump without the brace has lost its beginning
        if not value or (names.dumped and not text.startswith(b"{")):
            yield _broken(line, "is no sample: expected {labels} value time", as_text(text))
            continue
        if head not in heads:
            read = labels_of(head)
            heads[head] = None if read is None else called_now(*read)
            if read is None:
                yield _broken(line, "has labels that cannot be read", as_text(text))
        labelled = heads[head]
        if labelled is not None and names.wanted(labelled[0]):
            samples_of.setdefault(head, []).append((line, value, time))
    for head, samples in samples_of.items():
        labelled = heads[head]
        if labelled is not None:
            lines, values, times = zip(*samples, strict=True)
            scale = 1000.0 if in_seconds(head, times) else 1.0
            yield from _series(*labelled, lines, times, values, file=file, raw=True, scale=scale)


def _broken(line: int, reason: str, text: Any) -> Broken:
    shown = text if isinstance(text, str) else json.dumps(text)
    return Broken(table=_TABLE, line=line, reason=reason, text=shown)
