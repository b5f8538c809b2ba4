"""The form of a file of series: an answer of Prometheus, a dump of promtool, or an export."""

import re
from pathlib import PurePath

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
