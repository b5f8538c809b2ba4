"""The form of a file of series: an answer of Prometheus, a print or dump of promtool, an export.

``promtool query range`` prints a head ``metric{label="x"} =>`` for each series, and a line
``value @[seconds]`` for each sample. ``query instant`` prints both in one line.
Source: prometheus/common model/value.go (Matrix, SampleStream, Sample).
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import NamedTuple

from tracekit.intake.sources._cluster import Head, Opened
from tracekit.intake.sources.own._json_items import first_members

#: The first bytes of a file, which tell its form.
HEAD_BYTES = 1 << 16
_RANGE_ARRAY = re.compile(rb'\s*\[\s*\{\s*"(metric|values)"\s*:')
_EXPORTED = re.compile(rb'\s*\{\s*"metric"\s*:\s*\{')
_DUMPED = re.compile(r'\{[^{}=]+="|\{"[^"{}]+"\}$')
_COMMENT = re.compile(r"# (TYPE|HELP|UNIT) \S+|# EOF$")
_TEXT = r"^([a-zA-Z_:][a-zA-Z0-9_:]*)?(\{.*\})?\s+(\S+)(?:\s+(\S+))?\s*$"

#: What promtool prints of an answer without ``--format=json``.
_PRINTED = re.compile(rb"[a-zA-Z_:{][^\n]* =>( \S+ @\[\S+\])?\s*(\n|$)")
_ARROW = b" =>"
_SAMPLE = re.compile(rb"(\S+) @\[(\S+)\]$")


def head_of(opened: Opened) -> Head:
    """The name and the first bytes of a file."""
    with opened.stream() as stream:
        return Head(name=PurePath(opened.name).name, start=stream.read(HEAD_BYTES))


def stated_name(opened: Opened) -> str | None:
    """The name of the query that ``fetch`` writes into an answer; None without one."""
    name = first_members(head_of(opened)).get("name")
    return None if name is None else str(name)


def holds_ranges(head: Head) -> bool:
    """Whether a file begins as an answer to query_range, or as promtool prints the answer."""
    if _RANGE_ARRAY.match(head.start) or holds_prints(head):
        return True
    members = first_members(head)
    answers = members.get("status") in ("success", "error")
    return answers and (b'"resultType"' in head.start or "errorType" in members)


def holds_exports(head: Head) -> bool:
    """Whether a file begins as VictoriaMetrics exports series."""
    return _EXPORTED.match(head.start) is not None


def holds_texts(head: Head) -> bool:
    """Whether a file begins as a dump of ``promtool tsdb dump``, or as OpenMetrics."""
    first = head.lines[0] if head.lines else ""
    if holds_prints(head):
        return False
    if _COMMENT.match(first):
        return True
    line = re.match(_TEXT, first)
    return line is not None and bool(line[2]) and bool(_DUMPED.match(line[2]))


def holds_prints(head: Head) -> bool:
    """Whether a file begins as promtool prints an answer without ``--format=json``."""
    return _PRINTED.match(head.start) is not None


class Printed(NamedTuple):
    """A printed series: its head, and number, value and time of each line with a sample."""

    head: bytes
    line: int
    samples: list[tuple[int, bytes, bytes]]


class Unread(NamedTuple):
    """A line that is neither a head nor a sample."""

    line: int
    text: bytes


def printed(lines: Iterable[bytes]) -> Iterator[Printed | Unread]:
    """Yield the series of a print, and the lines that belong to no series."""
    series: Printed | None = None
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        head, arrow, rest = text.rpartition(_ARROW)
        if arrow and (not rest or _SAMPLE.match(rest.strip())):
            if series is not None:
                yield series
            series = Printed(head, number, [])
            text = rest.strip()
        if not text:
            continue
        sample = _SAMPLE.match(text)
        if sample is None or series is None:
            yield Unread(number, text)
        else:
            series.samples.append((number, sample[1], sample[2]))
    if series is not None:
        yield series
