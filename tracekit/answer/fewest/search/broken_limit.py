"""A limit that a row of the summary does not keep, and how it is told."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.replay.measures import find_measure, title_of
from tracekit.replay.runs.thresholds import Threshold
from tracekit.units import percent

#: The most digits to tell two values apart.
_MOST_DIGITS = 5
_BEYOND = {ast.LtE: "above", ast.Lt: "not below", ast.GtE: "below", ast.Gt: "not above"}


@dataclass(frozen=True)
class Broken:
    """A limit that does not hold.

    Parameters
    ----------
    value : float, optional
        The side that is measured; None where the run cannot tell it.
    how : str
        In which way it is broken, as far as two sides tell: ``above 80 %``.
    came : str
        The value as it is told, in digits that tell it from what it may be.
    too_little : bool
        Whether the value is too low, so that more nodes bring it no nearer.
    """

    limit: str
    measure: str
    value: float | None
    how: str
    too_little: bool = False
    came: str = ""

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.measure} is not known, so '{self.limit}' does not hold"
        return f"{title_of(self.measure)} would come to {self.how_far}"

    @property
    def how_far(self) -> str:
        """The value, and what it may be."""
        came = self.came or number(self.measure, self.value)
        how = self.how or f"so '{self.limit}' does not hold"
        return f"{came}, {how}"


def broken_limit(limit: Threshold, value: float | None, sides: Sequence[float | None]) -> Broken:
    """What is told of a limit whose ``sides`` do not hold; ``value`` is that of its measure."""
    plain_sides = _of_two_sides(limit, sides)
    came, most = _told_apart(limit.measure, *sides) if plain_sides else ("", "")
    at_least = isinstance(limit.condition.ops[0], ast.GtE | ast.Gt)
    return Broken(
        limit=limit.text,
        measure=limit.measure,
        value=value,
        how=_how(limit, most) if plain_sides else "",
        too_little=plain_sides and at_least,
        came=came,
    )


def _of_two_sides(limit: Threshold, sides: Sequence[float | None]) -> bool:
    plain_left = isinstance(limit.condition.left, ast.Name)
    return len(sides) == 2 and plain_left and sides[-1] is not None


def _told_apart(measure: str, one: float | None, other: float | None) -> tuple[str, str]:
    """Two values of a measure, in as many digits as tell them apart."""
    for digits in range(1, _MOST_DIGITS):
        told = number(measure, one, digits), number(measure, other, digits)
        if told[0] != told[1]:
            return told
    return number(measure, one, _MOST_DIGITS), number(measure, other, _MOST_DIGITS)


def _how(limit: Threshold, most: str) -> str:
    """In which way a limit of two sides is broken: ``above 80 %``."""
    word = _BEYOND.get(type(limit.condition.ops[0]), "not")
    right = limit.condition.comparators[0]
    said = "" if isinstance(right, ast.Constant) else f" ({ast.unparse(right)})"
    return f"{word} {most}{said}"


def plain(value: float, digits: int = 1) -> str:
    """A number in four digits, or more, a count in all of them."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.{3 + digits}g}"


def number(measure: str, value: float | None, digits: int = 1) -> str:
    """A value of a measure: a share in percent, with so many decimals."""
    if value is None:
        return "unknown"
    known = find_measure(measure)
    share = known is not None and known.share
    return percent(value, digits) if share else plain(value, digits)
