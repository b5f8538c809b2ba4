"""What ``promtool query range`` and ``query instant`` print: heads, and values with their times.

A range is ``metric{label="x"} =>`` and a line ``value @[seconds]`` for each sample; an instant has
all of it in one line. Source: prometheus/common model/value.go (Matrix, SampleStream, Sample).
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_ARROW = b" =>"
_SAMPLE = re.compile(rb"(\S+) @\[(\S+)\]$")
_FIRST = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)?(\{.*\})? =>( \S+ @\[\S+\])?\s*$")


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
