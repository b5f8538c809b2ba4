"""Where two policies differ: by which measures one is better, and by which neither is."""

from typing import Any

import polars as pl

from tracekit.answer.amounts import (
    places_of_difference,
    standing_text,
    texts_apart,
)
from tracekit.replay.measures import Measure, find_measure
from tracekit.report.data import Data
from tracekit.report.drawing.plot import numbers
from tracekit.report.measures import NEITHER, Beside, present, side
from tracekit.words import count

#: Measures that may answer come first, then those of one resource, then the others.
_TOLD_FIRST = ("answer", "resource", "detail")


def sides(data: Data, policy: str, other: str) -> list[Beside]:
    """The same by every measure that policies are compared by."""
    return [side(data, policy, other, one) for one in present(data.replay("summary"))]


def told(policy: str, other: str, of: list[Beside]) -> str:
    """How many measures one is better in, and how many the other; without a full stop."""
    many = {one: sum(row.side == one for row in of) for one in ("better", "worse", NEITHER, "")}
    neither = f", and of {many[NEITHER]} neither end is better" if many[NEITHER] else ""
    return (
        f"Of {count(len(of), 'measure')} {other} is better in {many['worse']} and {policy} in"
        f" {many['better']}, beyond chance; in {many['']} they do not differ beyond chance, or by"
        f" too little to count{neither}"
    )


def against(of: list[Beside]) -> list[Beside]:
    """What speaks against the policy, the most telling first."""
    worse = [row for row in of if row.side == "worse"]
    return sorted(worse, key=lambda row: (_TOLD_FIRST.index(row.measure.group), -_part(row)))


def _part(row: Beside) -> float:
    """How large a difference is, in widths of its interval."""
    by = row.difference
    if by is None or by.low is None or by.high is None or by.high <= by.low:
        return float("inf")
    return abs(by.mean) / (by.high - by.low)


def differences(data: Data, names: list[str]) -> list[list[Any]]:
    """Each known difference: two policies, measure, low, high, which is better, decimals, texts.

    The first policy is better at -1, the second at 1. The two texts are there where one policy is
    better and the usual digits of both look alike.
    """
    frame = data.replay("differences")
    if frame.is_empty():
        return []
    known = frame.filter(pl.col("policy_a").is_in(names) & pl.col("policy_b").is_in(names))
    columns = ("policy_a", "policy_b", "measure", "low", "high", "separated", "difference_mean")
    rows = known.select(columns).rows()
    kinds = {name: find_measure(name) for name in known["measure"].unique()}
    said = []
    for one, other, name, low, high, apart, mean in rows:
        kind = kinds[name]
        better = 0 if kind is None or not apart else _better(data, one, other, kind)
        texts = _texts_apart(data, one, other, kind) if kind is not None and better else None
        ends = numbers((low, high))
        said.append([one, other, name, *ends, better, _places(kind, mean, low, high), texts])
    return said


def _better(data: Data, one: str, other: str, measure: Measure) -> int:
    """Which of two is better, by the rule of all pages: -1 the first, 1 the second, 0 neither."""
    return {"better": -1, "worse": 1}.get(side(data, one, other, measure).side, 0)


def _texts_apart(data: Data, one: str, other: str, measure: Measure) -> list[str] | None:
    """Two values with digits that tell them apart; None where they have them anyway."""
    rows = [data.standings(measure.name).row(name) for name in (one, other)]
    if rows[0] is None or rows[1] is None:
        return None
    usual = [standing_text(measure, row) for row in rows if row is not None]
    told = list(texts_apart(measure, rows[0], rows[1]))
    return None if told == usual else told


def _places(
    measure: Measure | None, mean: float | None, low: float | None, high: float | None
) -> int | None:
    """Decimals of a difference, as on the other pages."""
    return None if measure is None else places_of_difference(measure, mean or 0.0, low, high)
