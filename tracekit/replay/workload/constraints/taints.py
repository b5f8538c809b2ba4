"""Taints of nodes and what containers tolerate, as Kubernetes matches them.

Source: k8s.io/api core/v1 toleration.go (ToleratesTaint) and the TaintToleration plugin, v1.34:
taints of effect NoSchedule and NoExecute close a node to who does not tolerate them;
PreferNoSchedule is a wish, and left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tracekit.replay.workload.constraints import documents

#: Effects that close a node.
CLOSING = ("NoSchedule", "NoExecute")


@dataclass(frozen=True)
class Taint:
    """A mark of a node that keeps containers away."""

    key: str
    value: str
    effect: str


#: The taint of a node that takes nothing new.
UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


@dataclass(frozen=True)
class Toleration:
    """Taints that a container does not mind; an empty key, or effect, is any."""

    key: str
    operator: str
    value: str
    effect: str

    def tolerates(self, taint: Taint) -> bool:
        """Whether it does not mind this one."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        return self.operator == "Exists" or (bool(self.key) and self.value == taint.value)


def taints(text: str) -> tuple[Taint, ...]:
    """Taints that close a node, of a JSON list of them; raises ValueError for anything else."""
    found = (
        Taint(_text(row, "key"), _text(row, "value"), _text(row, "effect")) for row in _rows(text)
    )
    return tuple(taint for taint in found if taint.effect in CLOSING)


def tolerations(text: str) -> tuple[Toleration, ...]:
    """Tolerations of a JSON list of them; raises ValueError for anything else."""
    return tuple(_toleration(row) for row in _rows(text))


def _toleration(row: Mapping[str, object]) -> Toleration:
    operator = _text(row, "operator") or "Equal"
    if operator not in ("Equal", "Exists"):
        raise documents.DocumentError(f"operator {operator!r} is none of Equal, Exists")
    return Toleration(_text(row, "key"), operator, _text(row, "value"), _text(row, "effect"))


def _rows(text: str) -> list[Mapping[str, object]]:
    read = documents.parsed(text)
    if not isinstance(read, list) or not all(isinstance(row, Mapping) for row in read):
        raise documents.DocumentError("expected a list of objects")
    return read


def _text(row: Mapping[str, object], name: str) -> str:
    value = row.get(name)
    return "" if value is None else str(value)
