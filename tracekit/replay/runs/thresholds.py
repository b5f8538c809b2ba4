"""Conditions on the measures of a run beside a base: ``imbalance_mean > 1.05 * base``.

``compare --fail-if`` fails where one holds, ``shrink --limit`` takes nodes away while all hold.

An expression of Python's arithmetic and comparisons, ``max(...)`` and ``min(...)``, nothing else:
numbers, names of measures (of the new run), ``base`` for the same measure in the base run,
``base.MEASURE`` for another one. In
``--limit`` base is the same policy on all nodes, and ``observed`` what production did. The unit at
the end of a name may be left out: ``cpu_p99 <= 0.8``.
``POLICY: EXPRESSION`` speaks of one policy, an expression alone of each.
"""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracekit.errors import TracekitError, nearest
from tracekit.replay.measures import SHARES, find_measure
from tracekit.replay.runs.run import OBSERVED

_ARITHMETIC: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARISON: Mapping[type[ast.AST], Callable[[Any, Any], bool]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: Mapping[str, Callable[[list[float]], float]] = {"max": max, "min": min}
#: Far more than any threshold takes, and far less than what reading one could choke on.
_LONGEST, _DEEPEST, _SHOWN = 2000, 100, 120
#: A share that is so large was meant in percent: no node is used ten times over.
_SURELY_PERCENT = 10.0
#: So many names are proposed in the place of one that is not there.
_PROPOSED = 5
_FAIL_IF = "--fail-if"
#: The other runs that an expression may speak of.
_OTHERS = {_FAIL_IF: ("base",), "--limit": ("base", OBSERVED)}
#: What the options that take such an expression look like.
_EXAMPLES = {
    _FAIL_IF: "for example --fail-if 'imbalance_mean > 1.05 * base'",
    "--limit": "for example --limit 'cpu_max_fraction <= 0.8'",
}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Threshold:
    """A condition under which a comparison fails.

    Parameters
    ----------
    text : str
        As given.
    policy : str, optional
        The policy it speaks of; None for each.
    """

    text: str
    policy: str | None
    condition: ast.Compare
    measure: str
    option: str = _FAIL_IF

    def met(self, base: Row, new: Row, observed: Row | None = None) -> bool:
        """Whether the condition holds between two rows of a summary; not where a value lacks.

        ``observed`` is the row of production, for expressions that may speak of it.

        Raises
        ------
        TracekitError
            For a measure that the runs do not have.
        """
        sides = self.sides(base, new, observed)
        if any(side is None for side in sides):
            return False
        return all(
            _COMPARISON[type(op)](left, right)
            for op, left, right in zip(self.condition.ops, sides, sides[1:], strict=False)
        )

    def sides(self, base: Row, new: Row, observed: Row | None = None) -> list[float | None]:
        """The compared values, from left to right; None where a value lacks. Raises as ``met``."""
        values = _Values(self, {"base": base, OBSERVED: observed or {}}, new)
        return [values.of(side) for side in (self.condition.left, *self.condition.comparators)]

    @property
    def measures(self) -> list[str]:
        """The measures it names, each once, but for those of other runs."""
        return [name for name in self._words if name not in _OTHERS[self.option]]

    def speaks_of(self, run: str) -> bool:
        """Whether it names another run: ``base`` or ``observed``."""
        return run in _OTHERS[self.option] and run in self._words

    @property
    def _words(self) -> list[str]:
        return list(dict.fromkeys(_named(self.condition)))

    @property
    def names(self) -> list[str]:
        """The measures it names, of the new run and of others, each once."""
        of_base = [
            node.attr for node in ast.walk(self.condition) if isinstance(node, ast.Attribute)
        ]
        return list(dict.fromkeys([*self.measures, *of_base]))

    @property
    def ceiling(self) -> float | None:
        """The number that its one measure may not exceed: 0.8 of ``x <= 0.8``; None of others."""
        left, right = self.condition.left, self.condition.comparators[0]
        plain = len(self.condition.ops) == 1 and isinstance(left, ast.Name)
        if not plain or not isinstance(self.condition.ops[0], ast.Lt | ast.LtE | ast.Eq):
            return None
        return float(str(right.value)) if isinstance(right, ast.Constant) else None


def parse_threshold(text: str, option: str = _FAIL_IF, *, typed: bool = True) -> Threshold:
    """A threshold from its text; raises TracekitError that says what is wrong with it.

    ``option`` is the one that it was given as; what nobody ``typed`` is meant as it stands.
    """
    if len(text) > _LONGEST:
        raise _wrong(option, text, f"has {len(text):,} characters, at most {_LONGEST:,} are read")
    policy, expression = _policy_and_expression(text)
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _wrong(option, text, "is not an expression") from None
    if _depth(tree) > _DEEPEST:
        raise _wrong(option, text, f"is nested more than {_DEEPEST} deep")
    if not isinstance(tree, ast.Compare):
        raise _wrong(option, text, "compares nothing")
    for node in ast.walk(tree):
        if not _allowed(node, _OTHERS[option]):
            raise _wrong(
                option, text, f"holds '{ast.unparse(node)}', which is no number, measure or sum"
            )
        if isinstance(node, ast.BinOp) and _divides_by_0(node):
            raise _wrong(option, text, f"divides by 0 in '{ast.unparse(node)}'")
    _spell_out(tree)
    measures = [name for name in _named(tree) if name not in _OTHERS[option]]
    if not measures:
        raise _wrong(option, text, "names no measure")
    if typed:
        _check_shares(tree, option, text)
    return Threshold(text, policy, tree, measures[0], option)


def _named(tree: ast.AST) -> list[str]:
    """The names of an expression but for those of functions."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    every = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return [node.id for node in every if id(node) not in called]


def _divides_by_0(node: ast.BinOp) -> bool:
    """Whether the divisor is written as 0."""
    divisor = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
    return isinstance(node.op, ast.Div) and isinstance(divisor, ast.Constant) and not divisor.value


def _check_shares(tree: ast.Compare, option: str, text: str) -> None:
    """Refuse a share that is compared with what can only be meant as percent."""
    for one in ast.walk(tree):
        measure = find_measure(one.id) if isinstance(one, ast.Name) else None
        if measure is None or not measure.share:
            continue
        for side in (tree.left, *tree.comparators):
            if isinstance(side, ast.Constant) and float(str(side.value)) >= _SURELY_PERCENT:
                given = float(str(side.value))
                raise TracekitError(
                    f"{option} '{text}': {measure.name} is a share, 1 is all; {given:g} would be"
                    f" {100 * given:,g} %",
                    hint=f"did you mean {given / 100:g}?",
                )


def _spell_out(tree: ast.AST) -> None:
    """Give measures whose unit was left out their whole names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = _in_full(node.id)
        elif isinstance(node, ast.Attribute):
            node.attr = _in_full(node.attr)


def _in_full(name: str) -> str:
    """The name of a measure whose unit was left out; any other as it is."""
    if find_measure(name) is not None:
        return name
    return next((f"{name}{end}" for end in SHARES if find_measure(f"{name}{end}")), name)


def _policy_and_expression(text: str) -> tuple[str | None, str]:
    """Cut at the ':' before the expression; one inside brackets belongs to the policy."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == ":" and depth == 0:
            return text[:at].strip(), text[at + 1 :]
    return None, text


def _allowed(node: ast.AST, others: tuple[str, ...]) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        return type(node.op) in {*_ARITHMETIC, ast.USub}
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.value.id in others
    if isinstance(node, ast.Compare):
        return all(type(op) in _COMPARISON for op in node.ops)
    if isinstance(node, ast.Call):
        known = isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
        return known and bool(node.args) and not node.keywords
    plain = (ast.Name, ast.expr_context, ast.operator, ast.cmpop, ast.unaryop)
    return isinstance(node, plain)


def _depth(tree: ast.AST) -> int:
    """How deep an expression is nested; a long sum is as deep as it has terms."""
    level: list[ast.AST] = [tree]
    depth = 0
    while level:
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        depth += 1
    return depth


def _wrong(option: str, text: str, what: str) -> TracekitError:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return TracekitError(f"{option} '{shown}' {what}", hint=_EXAMPLES[option])


def _alike(name: str, known: Sequence[str]) -> str:
    """Names that share a word with one that is not there, and where all of them are."""
    words = {word for word in name.lower().split("_") if len(word) > 1}
    close = sorted(known, key=lambda one: -len(words & set(one.split("_"))))[:_PROPOSED]
    near = [one for one in close if words & set(one.split("_"))]
    said = f"near it: {', '.join(near)}; " if near else ""
    return f"{said}all of them: tracekit list measures"


class _Values:
    """The values of the parts of a threshold's expression for one policy."""

    def __init__(self, threshold: Threshold, others: Mapping[str, Row], new: Row) -> None:
        self._threshold, self._others, self._new = threshold, others, new

    def of(self, node: ast.expr) -> float | None:
        """The value; None where a run has none."""
        if isinstance(node, ast.Constant):
            return float(str(node.value))
        if isinstance(node, ast.UnaryOp):
            value = self.of(node.operand)
            return None if value is None else -value
        if isinstance(node, ast.BinOp | ast.Call):
            return self._combined(node)
        if isinstance(node, ast.Attribute):
            assert isinstance(node.value, ast.Name)  # noqa: S101 - nothing else was let in
            return self._measure(self._others[node.value.id], node.attr)
        assert isinstance(node, ast.Name)  # noqa: S101 - nothing else was let in
        if self._threshold.speaks_of(node.id):
            return self._measure(self._others[node.id], self._threshold.measure)
        return self._measure(self._new, node.id)

    def _combined(self, node: ast.BinOp | ast.Call) -> float | None:
        parts = node.args if isinstance(node, ast.Call) else [node.left, node.right]
        values = [value for one in parts if (value := self.of(one)) is not None]
        if len(values) < len(parts):
            return None
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)  # noqa: S101 - nothing else was let in
            return _FUNCTIONS[node.func.id](values)
        if isinstance(node.op, ast.Div) and values[1] == 0:
            return None
        found: float = _ARITHMETIC[type(node.op)](*values)
        return found

    def _measure(self, row: Row, name: str) -> float | None:
        if name not in row or isinstance(row[name], str):
            known = [key for key in row if find_measure(key) is not None]
            close = nearest(name, known)
            given = f"{self._threshold.option} '{self._threshold.text}'"
            raise TracekitError(
                f"{given}: the run has no measure '{name}'",
                hint=f"did you mean '{close}'?" if close else _alike(name, known),
            )
        return None if row[name] is None else float(row[name])
