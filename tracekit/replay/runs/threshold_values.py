"""The values of the parts of a threshold's expression for one policy."""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracekit.base.errors import TracekitError, nearest
from tracekit.replay.measures import find_measure

ARITHMETIC: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
FUNCTIONS: Mapping[str, Callable[[list[float]], float]] = {"max": max, "min": min}
#: Of one measure, what it came to in the worst order of arrival.
WORST = "worst"
#: The name of the run that a new one is compared with.
BASE = "base"
#: So many names are proposed in the place of one that is not there.
_PROPOSED = 5

Row = Mapping[str, Any]


@dataclass(frozen=True)
class OthersMeasure:
    """What the name of another run alone stands for there."""

    name: str
    of_worst: bool = False


def worst_key(name: str) -> str:
    """Where a row has what a measure came to in the worst order of arrival."""
    return f"{WORST}({name})"


def measure_of_base(condition: ast.AST, measure: str) -> str | None:
    """The measure whose value in the base a condition speaks of; None where of several others.

    That is the ``measure`` that it is held against where ``base`` stands alone, or nowhere.
    """
    attributes = [
        node
        for node in ast.walk(condition)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == BASE
    ]
    every = [node for node in ast.walk(condition) if isinstance(node, ast.Name) and node.id == BASE]
    others = {node.attr for node in attributes}
    if len(every) > len(attributes) or not others or measure in others:
        return measure
    return others.pop() if len(others) == 1 else None


def value_of(
    node: ast.expr, rows: Mapping[str, Row], measure: OthersMeasure, given: str
) -> float | None:
    """The value of a part of an expression; None where a run has none.

    Parameters
    ----------
    rows : mapping
        The row of the new run under '', those of other runs under their names.
    measure : OthersMeasure
        What the name of another run alone stands for there.
    given : str
        The option and its text, for the error where a run has no such measure.
    """
    return _Values(rows, measure, given).of(node)


class _Values:
    """See ``value_of``."""

    def __init__(self, rows: Mapping[str, Row], measure: OthersMeasure, given: str) -> None:
        self._rows, self._of_others, self._given = rows, measure, given

    def of(self, node: ast.expr) -> float | None:
        """The value; None where a run has none."""
        if isinstance(node, ast.Constant):
            return float(str(node.value))
        if isinstance(node, ast.UnaryOp):
            value = self.of(node.operand)
            return None if value is None else -value
        if isinstance(node, ast.BinOp | ast.Call):
            return self._combined(node)
        row, name = self._named(node)
        alone = isinstance(node, ast.Name) and node.id in self._rows
        # beside the new run's worst order the base's mean would fail a run beside itself
        worst = alone and self._of_others.of_worst
        return self._measure(row, name, worst_key(name) if worst else "")

    def _named(self, node: ast.expr) -> tuple[Row, str]:
        """The row that a name is of, and the measure."""
        if isinstance(node, ast.Attribute):
            assert isinstance(node.value, ast.Name)  # noqa: S101 - nothing else was let in
            return self._rows[node.value.id], node.attr
        assert isinstance(node, ast.Name)  # noqa: S101 - nothing else was let in
        if node.id in self._rows:
            return self._rows[node.id], self._of_others.name
        return self._rows[""], node.id

    def _combined(self, node: ast.BinOp | ast.Call) -> float | None:
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)  # noqa: S101 - nothing else was let in
            if node.func.id == WORST:
                row, name = self._named(node.args[0])
                return self._measure(row, name, worst_key(name))
        parts = node.args if isinstance(node, ast.Call) else [node.left, node.right]
        values = [value for one in parts if (value := self.of(one)) is not None]
        if len(values) < len(parts):
            return None
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)  # noqa: S101 - nothing else was let in
            return FUNCTIONS[node.func.id](values)
        if isinstance(node.op, ast.Div) and values[1] == 0:
            return None
        found: float = ARITHMETIC[type(node.op)](*values)
        return found

    def _measure(self, row: Row, name: str, key: str = "") -> float | None:
        """A measure of a row, by ``key`` where the row has that: of one order it has none."""
        if name not in row or isinstance(row[name], str):
            known = [key for key in row if find_measure(key) is not None]
            close = nearest(name, known)
            raise TracekitError(
                f"{self._given}: the run has no measure '{name}'",
                hint=f"did you mean '{close}'?" if close else _alike(name, known),
            )
        value = row.get(key, row[name])
        return None if value is None else float(value)


def _alike(name: str, known: Sequence[str]) -> str:
    """Names that share a word with one that is not there, and where all of them are."""
    words = {word for word in name.lower().split("_") if len(word) > 1}
    close = sorted(known, key=lambda one: -len(words & set(one.split("_"))))[:_PROPOSED]
    near = [one for one in close if words & set(one.split("_"))]
    said = f"near it: {', '.join(near)}; " if near else ""
    return f"{said}all of them: tracekit list measures"
