"""Which form a file of series has: an answer, a print or dump of promtool, an export.

What ``promtool query range`` and ``query instant`` print are heads, and values with their times: a
range is ``metric{label="x"} =>`` and a line ``value @[seconds]`` for each sample, an instant has
all of it in one line. Source: prometheus/common model/value.go (Matrix, SampleStream, Sample).
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import NamedTuple

from tracekit.intake.sources._cluster import Head, Opened
from tracekit.intake.sources.own._json_items import first_members

#: So much of a file says what it is.
HEAD_BYTES = 1 << 16
_RANGE_ARRAY = re.compile(rb'\s*\[\s*\{\s*"(metric|values)"\s*:')
_EXPORTED = re.compile(rb'\s*\{\s*"metric"\s*:\s*\{')
_DUMPED = re.compile(r'\{[^{}=]+="|\{"[^"{}]+"\}$')
_COMMENT = re.compile(r"# (TYPE|HELP|UNIT) \S+|# EOF$")
_TEXT = r"^([a-zA-Z_:][a-zA-Z0-9_:]*)?(\{.*\})?\s+(\S+)(?:\s+(\S+))?\s*$"

_ARROW = b" =>"
_SAMPLE = re.compile(rb"(\S+) @\[(\S+)\]$")
_FIRST = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)?(\{.*\})? =>( \S+ @\[\S+\])?\s*$")


def head_of(opened: Opened) -> Head:
    """How a file begins."""
    with opened.stream() as stream:
        return Head(name=PurePath(opened.name).name, start=stream.read(HEAD_BYTES))


def stated_name(opened: Opened) -> str | None:
    """The name that an answer has beside its series: ``fetch`` writes what it asked for."""
    name = first_members(head_of(opened)).get("name")
    return None if name is None else str(name)


def holds_ranges(head: Head) -> bool:
    """Whether a file begins as an answer to query_range, or as what promtool prints of it."""
    if _RANGE_ARRAY.match(head.start) or holds_prints(head):
        return True
    members = first_members(head)
    asked = members.get("status") in ("success", "error")
    return asked and (b'"resultType"' in head.start or "errorType" in members)


def holds_exports(head: Head) -> bool:
    """Whether a file begins as VictoriaMetrics exports series."""
    return _EXPORTED.match(head.start) is not None


def holds_texts(head: Head) -> bool:
    """Whether a file begins as ``promtool tsdb dump`` prints it, or as OpenMetrics."""
    first = _first(head)
    if is_printed(first):
        return False
    if _COMMENT.match(first):
        return True
    found = re.match(_TEXT, first)
    return found is not None and bool(found[2]) and bool(_DUMPED.match(found[2]))


def holds_prints(head: Head) -> bool:
    """Whether a file begins as promtool prints an answer, which is then no JSON."""
    return is_printed(_first(head))


def _first(head: Head) -> str:
    return head.lines[0] if head.lines else ""


class Printed(NamedTuple):
    """A series as it was printed: its head, and number, value and time of each of its lines."""

    head: bytes
    line: int
    samples: list[tuple[int, bytes, bytes]]


class Unread(NamedTuple):
    """A line that is neither."""

    line: int
    text: bytes


def is_printed(first: str) -> bool:
    """Whether a file that begins with this line is such a print."""
    found = _FIRST.match(first)
    return found is not None and bool(found[1] or found[2])


def printed(lines: Iterable[bytes]) -> Iterator[Printed | Unread]:
    """The series of a print, and the lines that are of none."""
    now: Printed | None = None
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text:
            continue
        head, arrow, rest = text.rpartition(_ARROW)
        if arrow and (not rest or _SAMPLE.match(rest.strip())):
            if now is not None:
                yield now
            now = Printed(head, number, [])
            text = rest.strip()
            if not text:
                continue
        sample = _SAMPLE.match(text)
        if sample is None or now is None:
            yield Unread(number, text)
        else:
            now.samples.append((number, sample[1], sample[2]))
    if now is not None:
        yield now
