"""The forms of files of series: answers of Prometheus, prints and dumps of promtool, exports.

Of an answer the warnings are read too: Thanos and Mimir warn of missing data in ``warnings``,
VictoriaMetrics in ``isPartial``. Of a dump and of OpenMetrics the lines are parsed: name and
labels, value, time.

``promtool query range`` prints a head ``metric{label="x"} =>`` for each series, and a line
``value @[seconds]`` for each sample. ``query instant`` prints both in one line.
Source: prometheus/common model/value.go (Matrix, SampleStream, Sample).
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from tracekit.base.errors import TracekitError
from tracekit.base.units import SECONDS_UP_TO
from tracekit.intake.sources._source import Head, Opened
from tracekit.intake.sources.own._json_items import first_members
from tracekit.intake.sources.own._prometheus.metrics import MACHINE_CGROUP, POD_CGROUP, USES
from tracekit.store.broken_rows import PARTIAL_ANSWER

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
    """Return the name and the first bytes of a file."""
    with opened.stream() as stream:
        return Head(name=PurePath(opened.name).name, start=stream.read(HEAD_BYTES))


def stated_name(opened: Opened) -> str | None:
    """Return the name of the query that ``fetch`` wrote into a file; None if there is none."""
    name = first_members(head_of(opened)).get("name")
    return None if name is None else str(name)


def holds_ranges(head: Head) -> bool:
    """Return whether a file begins as an answer to query_range: JSON, or a print of promtool."""
    if _RANGE_ARRAY.match(head.start) or holds_prints(head):
        return True
    members = first_members(head)
    answers = members.get("status") in ("success", "error")
    return answers and (b'"resultType"' in head.start or "errorType" in members)


def holds_exports(head: Head) -> bool:
    """Return whether a file begins as an export of series by VictoriaMetrics."""
    return _EXPORTED.match(head.start) is not None


def holds_texts(head: Head) -> bool:
    """Return whether a file begins as a dump of ``promtool tsdb dump``, or as OpenMetrics."""
    first = head.lines[0] if head.lines else ""
    if holds_prints(head):
        return False
    if _COMMENT.match(first):
        return True
    line = re.match(_TEXT, first)
    return line is not None and bool(line[2]) and bool(_DUMPED.match(line[2]))


def holds_prints(head: Head) -> bool:
    """Return whether a file begins as promtool prints an answer as text, not as JSON."""
    return _PRINTED.match(head.start) is not None


class Printed(NamedTuple):
    """A series that promtool printed as text.

    ``head`` has name and labels; ``samples`` have the line, the value and the time of each sample.
    """

    head: bytes
    line: int
    samples: list[tuple[int, bytes, bytes]]


class Unread(NamedTuple):
    """A line of a print that is no part of a series."""

    line: int
    text: bytes


def printed(lines: Iterable[bytes]) -> Iterator[Printed | Unread]:
    """Yield the series that promtool printed as text, and each line that belongs to no series."""
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


#: The beginning of a remark on a query; Prometheus 2 puts remarks among its warnings.
_REMARK = "PromQL info:"
#: The beginning of a warning of wrong samples; any other warning is of missing data.
_OF_SAMPLES = "PromQL warning:"
#: The meaning of ``isPartial``.
_PARTIAL = "isPartial: some storage nodes did not answer, data may be missing"


def is_empty_answer(value: Any, file: str) -> bool:
    """Return whether a JSON value is an answer without series; raise TracekitError for an error."""
    status = value.get("status") if isinstance(value, dict) else None
    if status == "error":
        raise TracekitError(
            f"{file}: Prometheus answered with an error: {value.get('error')}",
            hint="ask again, and keep the answer to a query that works",
        )
    return bool(status == "success")


def warnings_of(beside: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the warnings of a server's answers, each once and in one line.

    ``beside`` has, for each answer, its members except the list of series.
    """
    texts = []
    for members in beside:
        stated = members.get("warnings")
        listed = stated if isinstance(stated, list) else [stated] if stated else []
        for one in [*listed, *([_PARTIAL] if members.get("isPartial") is True else [])]:
            text = " ".join(str(one).split())
            if text and not text.startswith(_REMARK):
                texts.append(text)
    return tuple(dict.fromkeys(texts))


def of_missing_data(warning: str) -> bool:
    """Return whether a warning says that data may be missing, and not that samples are odd."""
    return not warning.startswith(_OF_SAMPLES)


def warned(beside: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the reason and the text of a reject for each warning of a server's answers."""
    for warning in warnings_of(beside):
        yield f"{PARTIAL_ANSWER}: {warning}", warning


#: A label with its value. Prometheus 3 quotes unusual names; a name alone is that of the metric.
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_LABEL = re.compile(rf'\s*(?:{_QUOTED}|([^\s"={{}},]+))\s*(?:=\s*{_QUOTED})?\s*(,|$)')
#: Characters that a name without labels cannot have.
_STRANGE = re.compile(rb"[^a-zA-Z0-9_:]")
_ESCAPED = re.compile(r"\\(.)")

#: Name and labels of a series; None where they cannot be read.
HeadParts = tuple[str, dict[str, str]] | None

CUT_IN_LINE = "is cut off: the file ends before the line does"
CUT_AT_LINE = "is the last line, expected # EOF after it: the file may have been cut off"

NAMELESS = (
    "is a series without __name__; name the file after what it holds, for example"
    " container_cpu_in_use.json"
)

#: Without ``honor_labels`` Prometheus puts the labels of the exporter's own pod in place of those
#: of the measured pod, and renames the latter with this prefix.
_RENAMED = "exported_"
#: Labels of the kubelet before Kubernetes 1.16, with their present names.
_BEFORE = {"pod_name": "pod", "container_name": "container"}
#: The labels that name the measured container.
_NAMING = ("namespace", "pod", "container")


def parts_of(text: bytes) -> tuple[bytes, bytes, bytes]:
    """Split ``up{job="a"} 1 1700000000`` into name with labels, value and time.

    The time is empty if the line has none; all parts are empty if the line is no sample.
    """
    parts = text.rstrip().rsplit(b" ", 2)
    if len(parts) == 3 and (parts[0].endswith(b"}") or not _STRANGE.search(parts[0])):
        return parts[0], parts[1], parts[2]
    head, _, value = text.rstrip().rpartition(b" ")
    if head.endswith(b"}") or (head and not _STRANGE.search(head)):
        return head, value, b""
    return b"", b"", b""


def labels_of(head: bytes) -> HeadParts:
    """Parse ``up{job="a"}`` into name and labels; None for a text that cannot be read."""
    name, brace, inside = head.decode(errors="replace").partition("{")
    at, labels = 0, {}
    inside = inside[:-1] if brace else ""
    while inside[at:].strip():
        label = _LABEL.match(inside, at)
        if label is None:
            return None
        quoted, plain, value, _ = label.groups()
        key = plain if quoted is None else _ESCAPED.sub(_unescaped, quoted)
        if value is not None:
            labels[key] = _ESCAPED.sub(_unescaped, value)
        elif quoted is None or name:
            return None
        else:
            name = key
        at = label.end()
    return labels.pop("__name__", name), labels


def in_ms(times: Sequence[Any]) -> bool:
    """Return whether times are in ms (and not in seconds) since 1970, by the first time.

    As seconds, such a time would be after the year 5000.
    """
    first = next((as_number(one) for one in times if one), math.nan)
    return first >= SECONDS_UP_TO


def in_seconds(head: bytes, times: Sequence[Any]) -> bool:
    """Return whether times are in seconds since 1970, as in OpenMetrics.

    Dumps and the text format of Prometheus have ms. ``head`` is the name with labels of the sample.
    """
    return b"__name__=" not in head and not in_ms(times)


def is_open_metrics(line: bytes) -> bool:
    """Return whether a line is a sample of OpenMetrics, whose last line is ``# EOF``."""
    head, _, time = parts_of(line)
    return not line.startswith(b"#") and bool(time) and in_seconds(head, [time])


def as_number(text: Any) -> float:
    """Parse a number; NaN for a text that is none."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan


def no_amount(text: str) -> str:
    """Return the reason of a reject for a value that is negative or no finite number."""
    if text.lower() in {"nan", "none"}:
        return "is NaN, expected a number: the series ended here, or its query had no answer"
    negative = -math.inf < as_number(text) < 0
    return f"is '{text[:60]}', expected {'0 or more' if negative else 'a finite number'}"


def not_a_time(text: str) -> str:
    """Return the reason of a reject for a time that is no number."""
    return f"has the time '{text[:60]}', expected a number" if text else "has no time"


def as_text(text: Any) -> str:
    """Return a value or line of a file as text, for a reject."""
    return text.decode(errors="replace") if isinstance(text, bytes) else str(text)


def _unescaped(escape: re.Match[str]) -> str:
    return "\n" if escape[1] == "n" else escape[1]


def renamed(name: str, labels: dict[str, str]) -> dict[str, str]:
    """Return the labels of a metric under the names that its exporter now gives them.

    Renaming by Prometheus is undone: ``exported_pod`` becomes ``pod`` again.
    """
    if name.startswith("kube_"):
        return _as_exported(labels)
    if name in USES and USES[name].fills == "container":
        return _as_measured(_as_named_now(labels))
    return labels


def _as_measured(labels: dict[str, str]) -> dict[str, str]:
    """The labels of the measured container, also where the exporter's own stand in their place."""
    group = labels.get("id", "")
    if re.fullmatch(MACHINE_CGROUP, group):
        # the use of a whole machine is of no pod
        return {key: value for key, value in labels.items() if key not in _NAMING}
    measured = _as_exported(labels, _NAMING)
    if measured is not labels and re.fullmatch(POD_CGROUP, group):
        # the cgroup around containers has no container: the label is that of the exporter
        return {**measured, "container": labels.get(f"{_RENAMED}container", "")}
    return measured


def _as_exported(labels: dict[str, str], only: Sequence[str] = ()) -> dict[str, str]:
    """Undo the renaming by Prometheus, of all labels or of ``only`` these."""
    old = [key for key in labels if key.startswith(_RENAMED)]
    if only:
        old = [key for key in old if key.removeprefix(_RENAMED) in only]
    original = {key.removeprefix(_RENAMED): labels[key] for key in old if labels[key]}
    others = {key: value for key, value in labels.items() if key not in old}
    return {**others, **original} if original else labels


def _as_named_now(labels: dict[str, str]) -> dict[str, str]:
    """The labels of a container under the names of the kubelet since Kubernetes 1.16."""
    if not _BEFORE.keys() & labels.keys():
        return labels
    return {_BEFORE.get(key, key): value for key, value in labels.items()}
