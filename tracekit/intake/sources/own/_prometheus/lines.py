"""Name and labels, value and time of a line as Prometheus dumps samples and exposes them."""

import math
import re
from collections.abc import Sequence
from typing import Any

from tracekit.base.units import SECONDS_UP_TO
from tracekit.intake.sources.own._prometheus.metrics import MACHINE_CGROUP, POD_CGROUP, USES

#: A label with its value; names that are none of before Prometheus 3 are quoted, and a name alone
#: is that of the metric.
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_LABEL = re.compile(rf'\s*(?:{_QUOTED}|([^\s"={{}},]+))\s*(?:=\s*{_QUOTED})?\s*(,|$)')
#: A head without labels is a name.
_STRANGE = re.compile(rb"[^a-zA-Z0-9_:]")
_ESCAPED = re.compile(r"\\(.)")

#: Name and labels of a series; None where they cannot be read.
Known = tuple[str, dict[str, str]] | None

#: The time of such a line may have lost digits and be a time all the same.
CUT_IN_LINE = "is cut off: the file ends before the line does"
CUT_AT_LINE = "is the last line, expected # EOF after it: the file may have been cut off"

NAMELESS = (
    "is a series without __name__; name the file after what it holds, for example"
    " container_cpu_in_use.json"
)

#: Labels of what a metric is about that Prometheus renames where it puts those of the exporter in
#: their place, which it does unless ``honor_labels`` is set.
_RENAMED = "exported_"
#: What the kubelet called these labels before Kubernetes 1.16.
_BEFORE = {"pod_name": "pod", "container_name": "container"}
#: Whose use it is; what else Prometheus renames (``exported_id``, ``exported_job``) is no name.
_WHOSE = ("namespace", "pod", "container")


def parts_of(text: bytes) -> tuple[bytes, bytes, bytes]:
    """Name and labels, value, time of a line; no value where it is none, no time without one."""
    parts = text.rstrip().rsplit(b" ", 2)
    if len(parts) == 3 and (parts[0].endswith(b"}") or not _STRANGE.search(parts[0])):
        return parts[0], parts[1], parts[2]
    head, _, value = text.rstrip().rpartition(b" ")
    if head.endswith(b"}") or (head and not _STRANGE.search(head)):
        return head, value, b""
    return b"", b"", b""


def labels_of(head: bytes) -> Known:
    """Name and labels; None when they are no labels."""
    name, brace, inside = head.decode(errors="replace").partition("{")
    at, labels = 0, {}
    inside = inside[:-1] if brace else ""
    while inside[at:].strip():
        found = _LABEL.match(inside, at)
        if found is None:
            return None
        quoted, plain, value, _ = found.groups()
        key = plain if quoted is None else _ESCAPED.sub(_unescaped, quoted)
        if value is not None:
            labels[key] = _ESCAPED.sub(_unescaped, value)
        elif quoted is None or name:
            return None
        else:
            name = key
        at = found.end()
    return labels.pop("__name__", name), labels


def in_ms(times: Sequence[Any]) -> bool:
    """Whether times are milliseconds since 1970: as seconds they were later than the year 5000."""
    first = next((as_number(one) for one in times if one), math.nan)
    return first >= SECONDS_UP_TO


def in_seconds(head: bytes, times: Sequence[Any]) -> bool:
    """Whether times count in seconds: OpenMetrics does, a dump and the text format do not."""
    return b"__name__=" not in head and not in_ms(times)


def is_open_metrics(line: bytes) -> bool:
    """Whether a line is a sample of OpenMetrics, which ends with a line of its own."""
    head, _, time = parts_of(line)
    return not line.startswith(b"#") and bool(time) and in_seconds(head, [time])


def as_number(text: Any) -> float:
    """The number that a text is, NaN for one that is none."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan


def no_amount(text: str) -> str:
    """What is wrong with a value that is no number, or a negative one."""
    if text.lower() in {"nan", "none"}:
        return "is NaN, expected a number: the series ended here, or its query had no answer"
    negative = -math.inf < as_number(text) < 0
    return f"is '{text[:60]}', expected {'0 or more' if negative else 'a finite number'}"


def not_a_time(text: str) -> str:
    """What is wrong with a time that is no number."""
    return f"has the time '{text[:60]}', expected a number" if text else "has no time"


def as_text(text: Any) -> str:
    """A value or line as it stands."""
    return text.decode(errors="replace") if isinstance(text, bytes) else str(text)


def _unescaped(found: re.Match[str]) -> str:
    return "\n" if found[1] == "n" else found[1]


def renamed(name: str, labels: dict[str, str]) -> dict[str, str]:
    """Labels of a metric by the names that its exporter gives them now."""
    if name.startswith("kube_"):
        return _as_exported(labels)
    if name in USES and USES[name].fills == "container":
        return _as_measured(_as_named_now(labels))
    return labels


def _as_measured(labels: dict[str, str]) -> dict[str, str]:
    """Labels of whose use it is, where those of the exporter's own pod stand in their place."""
    group = labels.get("id", "")
    if re.fullmatch(MACHINE_CGROUP, group):
        # the whole machine is no pod's, whoever measures it
        return {key: value for key, value in labels.items() if key not in _WHOSE}
    found = _as_exported(labels, _WHOSE)
    if found is not labels and re.fullmatch(POD_CGROUP, group):
        # the cgroup around containers has no container: the one that is there is the exporter
        return {**found, "container": labels.get(f"{_RENAMED}container", "")}
    return found


def _as_exported(labels: dict[str, str], only: Sequence[str] = ()) -> dict[str, str]:
    """Labels as the exporter gave them, whatever Prometheus made of them; all, or those alone."""
    old = [key for key in labels if key.startswith(_RENAMED)]
    if only:
        old = [key for key in old if key.removeprefix(_RENAMED) in only]
    found = {key.removeprefix(_RENAMED): labels[key] for key in old if labels[key]}
    kept = {key: value for key, value in labels.items() if key not in old}
    return {**kept, **found} if found else labels


def _as_named_now(labels: dict[str, str]) -> dict[str, str]:
    """Labels of a container as the kubelet names them since Kubernetes 1.16."""
    if not _BEFORE.keys() & labels.keys():
        return labels
    return {_BEFORE.get(key, key): value for key, value in labels.items()}
