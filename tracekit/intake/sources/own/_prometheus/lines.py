"""Parses a line of a dump or of OpenMetrics: name and labels, value, time."""

import math
import re
from collections.abc import Sequence
from typing import Any

from tracekit.base.units import SECONDS_UP_TO
from tracekit.intake.sources.own._prometheus.metrics import MACHINE_CGROUP, POD_CGROUP, USES

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
    """Name and labels, value, and time of a line; an empty part where the line has none."""
    parts = text.rstrip().rsplit(b" ", 2)
    if len(parts) == 3 and (parts[0].endswith(b"}") or not _STRANGE.search(parts[0])):
        return parts[0], parts[1], parts[2]
    head, _, value = text.rstrip().rpartition(b" ")
    if head.endswith(b"}") or (head and not _STRANGE.search(head)):
        return head, value, b""
    return b"", b"", b""


def labels_of(head: bytes) -> HeadParts:
    """Parse name and labels; None for a text that cannot be read."""
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
    """Whether times are milliseconds since 1970: as seconds they would be after the year 5000."""
    first = next((as_number(one) for one in times if one), math.nan)
    return first >= SECONDS_UP_TO


def in_seconds(head: bytes, times: Sequence[Any]) -> bool:
    """Whether times are in seconds, as in OpenMetrics; a dump and the text format have ms."""
    return b"__name__=" not in head and not in_ms(times)


def is_open_metrics(line: bytes) -> bool:
    """Whether a line is a sample of OpenMetrics, whose last line is ``# EOF``."""
    head, _, time = parts_of(line)
    return not line.startswith(b"#") and bool(time) and in_seconds(head, [time])


def as_number(text: Any) -> float:
    """Parse a number; NaN for a text that is none."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan


def no_amount(text: str) -> str:
    """The reason of a reject for a value that is negative or no finite number."""
    if text.lower() in {"nan", "none"}:
        return "is NaN, expected a number: the series ended here, or its query had no answer"
    negative = -math.inf < as_number(text) < 0
    return f"is '{text[:60]}', expected {'0 or more' if negative else 'a finite number'}"


def not_a_time(text: str) -> str:
    """The reason of a reject for a time that is no number."""
    return f"has the time '{text[:60]}', expected a number" if text else "has no time"


def as_text(text: Any) -> str:
    """A value or line of the file as a text."""
    return text.decode(errors="replace") if isinstance(text, bytes) else str(text)


def _unescaped(escape: re.Match[str]) -> str:
    return "\n" if escape[1] == "n" else escape[1]


def renamed(name: str, labels: dict[str, str]) -> dict[str, str]:
    """The labels of a metric under the present names of its exporter."""
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
