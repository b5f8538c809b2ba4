"""Selectors and taints of nodes, evaluated as Kubernetes does.

Columns hold JSON texts, and each distinct text is read once. Source: k8s.io/apimachinery
pkg/labels/selector.go and component-helpers nodeaffinity, v1.34. A node that lacks the label meets
NotIn and DoesNotExist, and no other requirement. Gt and Lt compare whole numbers; a label that is
not a whole number does not meet them.
"""

import functools
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.constants import CORDON_TAINT
from tracekit.base.errors import TracekitError

T = TypeVar("T")
_SHOWN = 80


class DocumentError(ValueError):
    """The error of a text that is JSON, but not of the expected form."""


def texts_of(frame: pl.DataFrame, column: str) -> list[str]:
    """Return a column as texts, empty for null and for a column that is missing."""
    if column not in frame.columns:
        return [""] * frame.height
    return frame[column].cast(pl.String).fill_null("").to_list()


def numbered(keys: Sequence[Hashable]) -> tuple[IntArray, list[int]]:
    """Return a number for each key, and the position at which each number occurs first.

    The number of None is -1. ``["b", None, "b", "a"]`` gives [0, -1, 0, 1], and positions [0, 3].
    """
    number: dict[Hashable, int] = {None: -1}
    of = [number.setdefault(key, len(number) - 1) for key in keys]
    first: dict[int, int] = {}
    for at, one in enumerate(of):
        first.setdefault(one, at)
    return np.array(of, dtype=np.int64), [first[one] for one in range(len(number) - 1)]


def read_text(read: Callable[[str], T], frame: pl.DataFrame, at: int, column: str) -> T:
    """Return the result of ``read`` for the text in the row ``at`` of a column.

    Raises
    ------
    TracekitError
        Where ``read`` raises ValueError; it names the container or node, and the column.
    """
    text = str(frame[column][at])
    try:
        return read(text)
    except ValueError as wrong:
        kind = "container" if "container" in frame.columns else "node"
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        name = frame[kind][at]
        raise TracekitError(f"{kind} '{name}' has {column} {shown}: {wrong}") from wrong


def statements(
    frame: pl.DataFrame, column: str, read: Callable[[str], T], but: BoolArray | None = None
) -> tuple[IntArray, list[T]]:
    """Return each row's position among a column's distinct texts, and ``read`` of each such text.

    The position is -1 for a row without a text, and for rows that ``but`` marks.
    """
    silent = [False] * frame.height if but is None else but.tolist()
    texts = zip(texts_of(frame, column), silent, strict=True)
    of, first = numbered([text if text and not skip else None for text, skip in texts])
    return of, [read_text(read, frame, at, column) for at in first]


#: Columns of the table of nodes that are labels too, unless a label of that name says otherwise.
COLUMNS = ("platform", "rack", "domain", "zone")
#: Labels by which a node itself is meant.
NAMES = ("node", "metadata.name")

#: Requirements whose nodes are kept at hand.
_KEPT = 4096


@dataclass(frozen=True)
class Requirement:
    """A selector's requirement on one label."""

    key: str
    operator: str
    values: tuple[str, ...]


class Labels:
    """The labels of all nodes; ``meets(requirement)`` returns the mask of nodes that meet it.

    Parameters
    ----------
    nodes : DataFrame
        One row per node, with the column ``node`` and, if known, ``labels``, ``platform``,
        ``rack``, ``domain`` and ``zone``.
    """

    def __init__(self, nodes: pl.DataFrame) -> None:
        self._count = nodes.height
        self._columns = {
            name: [None if value is None else str(value) for value in nodes[name]]
            for name in COLUMNS
            if name in nodes.columns
        }
        self._columns |= {name: [str(value) for value in nodes["node"]] for name in NAMES}
        self._of, self._labels = statements(nodes, "labels", labels_of)
        self.meets = functools.lru_cache(maxsize=_KEPT)(self._meets)
        self._coded = functools.cache(self._coded_by)

    def domain(self, name: str) -> IntArray:
        """Return a number for each value of a label, -1 where a node lacks it; shape (nodes,)."""
        return self._coded(name)[0]

    def stated(self, name: str) -> bool:
        """Return whether some node has the label."""
        return bool((self.domain(name) >= 0).any())

    def values(self, key: str) -> list[str | None]:
        """Return the value of a label at each node, None for a node that lacks it."""
        column = self._columns.get(key, [None] * self._count)
        if not self._labels:
            return column
        return [
            value if of < 0 else self._labels[of].get(key, value)
            for of, value in zip(self._of.tolist(), column, strict=True)
        ]

    def _coded_by(self, key: str) -> tuple[IntArray, dict[str, int]]:
        codes: dict[str, int] = {}
        of = [
            -1 if value is None else codes.setdefault(value, len(codes))
            for value in self.values(key)
        ]
        return np.array(of, dtype=np.int64), codes

    def _meets(self, one: Requirement) -> BoolArray:
        """Which nodes meet a requirement, shape (nodes,)."""
        of, codes = self._coded(one.key)
        return _OPERATORS[one.operator](of, codes, one.values)


def alternatives(selector: str) -> list[list[Requirement]]:
    """Return the alternatives of a selector.

    A node is selected if it meets every requirement of one alternative.

    The text is a JSON list of alternatives, each a list of ``{"key", "operator", "values"}``. A
    plain object of labels and values, like a nodeSelector, is one alternative.

    Raises
    ------
    ValueError
        When the text has another form or is not JSON.
    """
    read = json.loads(selector)
    if isinstance(read, Mapping):
        return [[Requirement(str(k), "In", (str(v),)) for k, v in read.items()]] if read else []
    if not isinstance(read, list):
        raise DocumentError("expected a list of alternatives")
    return [_alternative(one) for one in read]


def selected(labels: Labels, selector: Sequence[Sequence[Requirement]], nodes: int) -> BoolArray:
    """Return the mask of nodes that a selector selects, shape (nodes,).

    ``selector`` is a list of alternatives, each a list of requirements. A node is selected if it
    meets every requirement of one alternative. An alternative without requirements selects none.
    """
    mask = np.zeros(nodes, dtype=np.bool_)
    for requirements in selector:
        if requirements:
            mask |= functools.reduce(np.logical_and, map(labels.meets, requirements))
    return mask


def _alternative(read: object) -> list[Requirement]:
    if not isinstance(read, list):
        raise DocumentError("expected a list of requirements as an alternative")
    return [requirement(one) for one in read]


def requirement(read: object) -> Requirement:
    """Return the requirement in an object of key, operator and values.

    Raise ValueError for other objects.
    """
    if not isinstance(read, Mapping) or not isinstance(read.get("key"), str):
        raise DocumentError("expected a requirement with a key, an operator and values")
    operator, values = read.get("operator", "In"), read.get("values") or []
    if operator not in _OPERATORS:
        raise DocumentError(f"operator {operator!r} is none of {', '.join(_OPERATORS)}")
    if not isinstance(values, list):
        raise DocumentError("expected values to be a list")
    if operator in ("Gt", "Lt") and (len(values) != 1 or whole_number(str(values[0])) is None):
        raise DocumentError(f"expected one whole number for {operator}, found {values}")
    return Requirement(str(read["key"]), operator, tuple(str(value) for value in values))


def whole_number(text: str) -> int | None:
    """Return the whole number that a label spells, or None if it spells none."""
    try:
        return int(text)
    except ValueError:
        return None


Codes = Mapping[str, int]


def _is_in(of: IntArray, codes: Codes, values: tuple[str, ...]) -> BoolArray:
    return np.isin(of, [codes[value] for value in values if value in codes])


def _compared(of: IntArray, codes: Codes, values: tuple[str, ...], sign: int) -> BoolArray:
    bound = sign * int(values[0])
    numbers = {code: whole_number(value) for value, code in codes.items()}
    return np.isin(of, [at for at, n in numbers.items() if n is not None and sign * n > bound])


_OPERATORS: Mapping[str, Callable[[IntArray, Codes, tuple[str, ...]], BoolArray]] = {
    "In": _is_in,
    "NotIn": lambda of, codes, values: ~_is_in(of, codes, values),
    "Exists": lambda of, _codes, _values: of >= 0,
    "DoesNotExist": lambda of, _codes, _values: of < 0,
    "Gt": lambda of, codes, values: _compared(of, codes, values, 1),
    "Lt": lambda of, codes, values: _compared(of, codes, values, -1),
}


def labels_of(text: str) -> dict[str, str]:
    """Return the labels in a JSON object; raises ValueError for anything else."""
    read = json.loads(text)
    if not isinstance(read, Mapping):
        raise DocumentError("expected an object")
    return {str(key): str(value) for key, value in read.items()}


# Taints of nodes and what containers tolerate, as Kubernetes matches them. Source: k8s.io/api
# core/v1 toleration.go (ToleratesTaint) and the TaintToleration plugin, v1.34: taints of effect
# NoSchedule and NoExecute close a node to who does not tolerate them; PreferNoSchedule is a wish,
# and left out.

#: Effects that close a node.
CLOSING = ("NoSchedule", "NoExecute")


@dataclass(frozen=True)
class Taint:
    """A mark of a node that keeps containers away."""

    key: str
    value: str
    effect: str


#: The taint of a node that takes nothing new.
UNSCHEDULABLE = Taint(CORDON_TAINT, "", "NoSchedule")


@dataclass(frozen=True)
class Toleration:
    """A statement of which taints a container tolerates; an empty key or effect stands for any."""

    key: str
    operator: str
    value: str
    effect: str

    def tolerates(self, taint: Taint) -> bool:
        """Return whether the container tolerates this taint."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        return self.operator == "Exists" or (bool(self.key) and self.value == taint.value)


def taints(text: str) -> tuple[Taint, ...]:
    """Return the taints in a JSON list that close a node; raises ValueError for anything else."""
    return tuple(taint for taint in all_taints(text) if taint.effect in CLOSING)


def all_taints(text: str) -> tuple[Taint, ...]:
    """Return all taints in a JSON list, also those that only advise.

    Raise ValueError for any other text.
    """
    return tuple(
        Taint(_text(row, "key"), _text(row, "value"), _text(row, "effect")) for row in _rows(text)
    )


def tolerations(text: str) -> tuple[Toleration, ...]:
    """Return the tolerations in a JSON list; raises ValueError for anything else."""
    return tuple(_toleration(row) for row in _rows(text))


def _toleration(row: Mapping[str, object]) -> Toleration:
    operator = _text(row, "operator") or "Equal"
    if operator not in ("Equal", "Exists"):
        raise DocumentError(f"operator {operator!r} is none of Equal, Exists")
    return Toleration(_text(row, "key"), operator, _text(row, "value"), _text(row, "effect"))


def _rows(text: str) -> list[Mapping[str, object]]:
    read = json.loads(text)
    if not isinstance(read, list) or not all(isinstance(row, Mapping) for row in read):
        raise DocumentError("expected a list of objects")
    return read


def _text(row: Mapping[str, object], name: str) -> str:
    value = row.get(name)
    return "" if value is None else str(value)
