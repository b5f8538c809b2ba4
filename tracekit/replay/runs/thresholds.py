"""Thresholds: conditions on the measures of a run and a base, as ``imbalance_mean > 1.05 * base``.

``compare --fail-if`` fails where a threshold holds. ``nodes --limit`` removes nodes while all hold.

A threshold is one comparison with numbers, ``+ - * /``, ``max(...)``, ``min(...)`` and names:

- ``MEASURE``: a measure of the new run; ``base``: the same measure of the base run;
  ``base.MEASURE``: another measure of the base run.
- In ``--fail-if`` a measure is the mean over the orders of arrival; ``worst(MEASURE)`` and
  ``worst(base.MEASURE)`` are the values of the worst order. Beside a ``worst`` of the new run,
  ``base`` alone is the worst order of the base. The unit at the end of a name may be left out:
  ``cpu_p99 <= 0.8``.
- In ``--limit`` the threshold holds in each order. ``base`` is the same policy on all nodes, and
  ``observed`` is production.

``POLICY: EXPRESSION`` concerns one policy, an expression alone every policy.
"""

import ast
import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tracekit.base.errors import TracekitError, nearest
from tracekit.replay.measures import SHARES, find_measure
from tracekit.replay.runs.run import OBSERVED

_ARITHMETIC: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: Mapping[str, Callable[[list[float]], float]] = {"max": max, "min": min}
#: The function that gives the value of a measure in the worst order of arrival.
WORST = "worst"
#: The name of the run that a new one is compared with.
BASE = "base"
_COMPARISON: Mapping[type[ast.AST], Callable[[Any, Any], bool]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
#: The longest expression that is parsed, and the length of its quote in an error.
_LONGEST, _SHOWN = 400, 120
#: A share of at least this much was meant in percent.
_SURELY_PERCENT = 10.0
_FAIL_IF, LIMIT = "--fail-if", "--limit"
#: The other runs that an expression may name.
_OTHERS = {_FAIL_IF: (BASE,), LIMIT: (BASE, OBSERVED)}
#: An example of each option.
_EXAMPLES = {
    _FAIL_IF: "for example --fail-if 'imbalance_mean > 1.05 * base'",
    LIMIT: "for example --limit 'cpu_max_fraction <= 0.8'",
}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Threshold:
    """A condition on the measures of two runs.

    Parameters
    ----------
    text : str
        The spelling on the command line.
    policy : str, optional
        The policy that the condition concerns; None for every policy.
    condition : ast.Compare
        The parsed comparison.
    measure : str
        The first measure of the condition; ``base`` alone stands for its value in the base run.
    option : str
        ``--fail-if`` or ``--limit``.
    """

    text: str
    policy: str | None
    condition: ast.Compare
    measure: str
    option: str = _FAIL_IF

    def met(self, base: Row, new: Row, observed: Row | None = None) -> bool:
        """Return whether the condition holds for two summary rows; False if a value is missing.

        ``observed`` is the row of production.

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
        """Return the compared values from left to right; None for a missing one.

        Raises as ``met``.
        """
        values = _Values(self, {"": new, BASE: base, OBSERVED: observed or {}})
        return [values.of(side) for side in (self.condition.left, *self.condition.comparators)]

    @property
    def measures(self) -> list[str]:
        """The measures of the new run in the condition, each once."""
        return [name for name in self._words if name not in _OTHERS[self.option]]

    def speaks_of(self, run: str) -> bool:
        """Return whether the condition uses the run ``run``, which is ``base`` or ``observed``."""
        return run in _OTHERS[self.option] and run in self._words

    @property
    def of_worst(self) -> bool:
        """Whether the condition uses ``worst(...)``, a value of the worst order of arrival."""
        return any(_is_worst(node) for node in ast.walk(self.condition))

    @property
    def new_of_worst(self) -> bool:
        """Whether ``measure`` is the new run's value in its worst order of arrival."""
        return any(
            _is_worst(node) and self.measure in _named(node) for node in ast.walk(self.condition)
        )

    @property
    def base_of_worst(self) -> bool:
        """Whether the base run's value is taken in its worst order of arrival."""
        if any(_is_worst(node) and BASE in _named(node) for node in ast.walk(self.condition)):
            return True
        means = any(isinstance(node, ast.Attribute) for node in ast.walk(self.condition))
        return self.new_of_worst and not means

    @property
    def measure_of_base(self) -> str | None:
        """The measure that is taken from the base run; None where there are several.

        ``base`` alone, and a condition without ``base``, mean ``measure``.
        """
        walked = list(ast.walk(self.condition))
        every = [one for one in walked if isinstance(one, ast.Name) and one.id == BASE]
        attributes = [
            one
            for one in walked
            if isinstance(one, ast.Attribute)
            and isinstance(one.value, ast.Name)
            and one.value.id == BASE
        ]
        others = {one.attr for one in attributes}
        if len(every) > len(attributes) or not others or self.measure in others:
            return self.measure
        return others.pop() if len(others) == 1 else None

    @property
    def _words(self) -> list[str]:
        return list(dict.fromkeys(_named(self.condition)))

    @property
    def names(self) -> list[str]:
        """The measures of the new run and of the base in the condition, each once."""
        of_base = [
            node.attr for node in ast.walk(self.condition) if isinstance(node, ast.Attribute)
        ]
        return list(dict.fromkeys([*self.measures, *of_base]))

    @property
    def two_sided(self) -> bool:
        """Whether it is a single comparison with one measure alone on the left."""
        return len(self.condition.ops) == 1 and isinstance(self.condition.left, ast.Name)

    @property
    def caps(self) -> bool:
        """Whether it is ``two_sided``, and demands a measure of at most the right side."""
        return self.two_sided and isinstance(self.condition.ops[0], ast.Lt | ast.LtE | ast.Eq)

    @property
    def floors(self) -> bool:
        """Whether it is ``two_sided``, and demands a measure of at least the right side."""
        return self.two_sided and isinstance(self.condition.ops[0], ast.Gt | ast.GtE)


def worst_key(name: str) -> str:
    """Return the key of a measure's value in the worst order, in a row: ``worst(name)``."""
    return f"{WORST}({name})"


class _Values:
    """The values of the parts of a threshold's expression.

    Parameters
    ----------
    rows : mapping
        The row of the new run under '', and the rows of other runs under their names.
    """

    def __init__(self, threshold: Threshold, rows: Mapping[str, Row]) -> None:
        self._of, self._rows = threshold, rows

    def of(self, node: ast.expr) -> float | None:
        """Return the value of a part of the expression; None where a run has none."""
        if isinstance(node, ast.Constant):
            return float(str(node.value))
        if isinstance(node, ast.UnaryOp):
            value = self.of(node.operand)
            return None if value is None else -value
        if isinstance(node, ast.Call) and _is_worst(node):
            return self._measure(node.args[0], of_worst=True)
        if isinstance(node, ast.BinOp | ast.Call):
            return self._combined(node)
        # a worst order is compared with the base's worst order: otherwise a run would fail itself
        alone = isinstance(node, ast.Name) and node.id in self._rows
        return self._measure(node, of_worst=alone and self._of.new_of_worst)

    def _combined(self, node: ast.BinOp | ast.Call) -> float | None:
        parts = node.args if isinstance(node, ast.Call) else [node.left, node.right]
        values = [value for one in parts if (value := self.of(one)) is not None]
        if len(values) < len(parts):
            return None
        if isinstance(node, ast.Call):
            return _FUNCTIONS[ast.unparse(node.func)](values)
        if isinstance(node.op, ast.Div) and values[1] == 0:
            return None
        result: float = _ARITHMETIC[type(node.op)](*values)
        return result

    def _measure(self, node: ast.expr, *, of_worst: bool) -> float | None:
        """The value of a measure. A row of one order has no worst order: its value is the mean."""
        run, _, name = ast.unparse(node).rpartition(".")
        if not run and name in self._rows:
            run, name = name, self._of.measure
        row = self._rows[run]
        if name not in row or isinstance(row[name], str):
            close = nearest(name, [key for key in row if find_measure(key) is not None])
            raise TracekitError(
                f"{self._of.option} '{self._of.text}': the run has no measure '{name}'",
                hint=f"did you mean '{close}'?" if close else "all of them: tracekit list measures",
            )
        value = row.get(worst_key(name), row[name]) if of_worst else row[name]
        return None if value is None else float(value)


def at_most(measure: str, most: float | str) -> Threshold:
    """Return the limit ``measure <= most``; a text ``most`` names the run with the limit."""
    right = ast.Name(most) if isinstance(most, str) else ast.Constant(most)
    condition = ast.Compare(ast.Name(measure), [ast.LtE()], [right])
    return Threshold(ast.unparse(condition), None, condition, measure, LIMIT)


def parse_threshold(text: str, option: str = _FAIL_IF) -> Threshold:
    """Parse a threshold of ``option``, which is ``--fail-if`` or ``--limit``.

    Raises
    ------
    TracekitError
        For a text that is no threshold of this option.
    """
    if len(text) > _LONGEST:
        raise _wrong(option, text, f"has {len(text):,} characters, at most {_LONGEST:,} are read")
    policy, expression = _policy_and_expression(text)
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _wrong(option, text, "is not an expression") from None

    tree = _one_comparison(tree, option, text)
    for node in ast.walk(tree):
        if not _allowed(node, _OTHERS[option]):
            raise _wrong(
                option, text, f"holds '{ast.unparse(node)}', which is no number, measure or sum"
            )
        if isinstance(node, ast.BinOp) and _divides_by_0(node):
            raise _wrong(option, text, f"divides by 0 in '{ast.unparse(node)}'")
    if option == _FAIL_IF:
        _spell_out(tree)
    _check_worst(tree, option, text)
    measures = [name for name in _named(tree) if name not in _OTHERS[option]]
    if not measures:
        raise _wrong(option, text, "names no measure")
    _check_shares(tree, option, text)
    return Threshold(text, policy, tree, measures[0], option)


def _one_comparison(tree: ast.expr, option: str, text: str) -> ast.Compare:
    if isinstance(tree, ast.BoolOp):
        many = "two" if len(tree.values) == 2 else str(len(tree.values))
        raise _wrong(option, text, f"gives {many} comparisons", f"give each as its own {option}")
    if not isinstance(tree, ast.Compare):
        raise _wrong(option, text, "compares nothing")
    return tree


def _named(tree: ast.AST) -> list[str]:
    """The names in an expression, without functions."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    every = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return [node.id for node in every if id(node) not in called]


def _is_worst(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == WORST


def _check_worst(tree: ast.AST, option: str, text: str) -> None:
    """Refuse ``worst`` in a limit, of several measures, and of a measure without a better end."""
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and _is_worst(one)]
    if calls and option != _FAIL_IF:
        plain = ast.unparse(calls[0].args[0])
        why = "asks for the worst order of arrival, and a limit holds in each"
        raise _wrong(option, text, why, f"write {plain} instead of {ast.unparse(calls[0])}")
    for call in calls:
        inner, *others = call.args
        if others or not isinstance(inner, ast.Name | ast.Attribute):
            why = f"holds '{ast.unparse(call)}', and one measure alone has a worst order"
            raise _wrong(option, text, why, f"for example {WORST}(cpu_max_fraction)")
        name = inner.id if isinstance(inner, ast.Name) else inner.attr
        measure = find_measure(name)
        if measure is not None and measure.better is None:
            why = f"asks for the worst {name}, of which neither end is better"
            raise _wrong(option, text, why, "thresholds without 'worst' are of the mean")


def _divides_by_0(node: ast.BinOp) -> bool:
    """Whether the divisor is written as 0."""
    divisor = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
    return isinstance(node.op, ast.Div) and isinstance(divisor, ast.Constant) and not divisor.value


def _check_shares(tree: ast.Compare, option: str, text: str) -> None:
    """Refuse a share that is compared with a number in percent."""
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
    """Replace the names of measures without their unit by their full names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = _in_full(node.id)
        elif isinstance(node, ast.Attribute):
            node.attr = _in_full(node.attr)


def _in_full(name: str) -> str:
    """The full name of a measure whose unit was left out; any other name unchanged."""
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
        value = node.value
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and float(str(value)) <= sys.float_info.max
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        return type(node.op) in {*_ARITHMETIC, ast.USub}
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.value.id in others
    if isinstance(node, ast.Compare):
        return all(type(op) in _COMPARISON for op in node.ops)
    if isinstance(node, ast.Call):
        is_function = isinstance(node.func, ast.Name) and node.func.id in {*_FUNCTIONS, WORST}
        return is_function and bool(node.args) and not node.keywords
    plain = (ast.Name, ast.expr_context, ast.operator, ast.cmpop, ast.unaryop)
    return isinstance(node, plain)


def _wrong(option: str, text: str, what: str, hint: str = "") -> TracekitError:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return TracekitError(f"{option} '{shown}' {what}", hint=hint or _EXAMPLES[option])
