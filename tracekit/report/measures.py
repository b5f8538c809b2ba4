"""The measures of a replay on the page: who is best, and what tells nobody apart."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tracekit.replay.measures import Measure, compared
from tracekit.replay.runs.run import BOUND
from tracekit.report.policies import tested
from tracekit.report.words import number, percent

#: Closer than this, relative to the larger, two values count as equal.
SAME = 1e-9
#: Policies that differ by less than this on a measure are not told apart by it.
CLOSE = 0.01


def text(measure: Measure, value: float | None) -> str:
    """A value as tables show it."""
    if value is None:
        return "\u2013"
    if measure.share:
        return percent(value, 1)
    return f"{value:,}" if isinstance(value, int) else number(value)


def present(summary: pl.DataFrame) -> list[Measure]:
    """The measures that a summary has, in the order of the page."""
    return [one for name, one in compared().items() if name in summary.columns]


def complete(summary: pl.DataFrame) -> list[str]:
    """Policies that left nothing waiting; only they carry the whole load and can be compared."""
    rows = summary.filter(pl.col("policy").is_in(tested(summary)))
    for column in ("pending", "pending_container_steps"):
        if column in rows.columns:
            rows = rows.filter(pl.col(column) == 0)
    return rows["policy"].to_list()


def values(summary: pl.DataFrame, measure: Measure, policies: Sequence[str]) -> dict[str, float]:
    """A measure's values by policy, without those that are not known."""
    known = dict(zip(summary["policy"], summary[measure.name], strict=True))
    return {name: known[name] for name in policies if known.get(name) is not None}


def best(summary: pl.DataFrame, measure: Measure) -> list[str]:
    """The policies with the best value; none where all are equal or neither way is better.

    Values that read the same in the table are equal. Policies that left containers waiting
    compete only on how many they left.
    """
    names = tested(summary) if measure.name == "pending" else complete(summary)
    found = values(summary, measure, names)
    shown = {name: text(measure, value) for name, value in found.items()}
    if measure.better is None or len(set(shown.values())) < 2:
        return []
    end = min(found.values()) if measure.better == "low" else max(found.values())
    return [name for name, value in shown.items() if value == text(measure, end)]


def alike(summary: pl.DataFrame) -> list[list[str]]:
    """Groups of policies that have the same value in every measure."""
    measures = present(summary)
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in summary.iter_rows(named=True):
        if row["policy"] in tested(summary):
            key = tuple(f"{row[m.name]:.9g}" if row[m.name] is not None else "" for m in measures)
            groups.setdefault(key, []).append(row["policy"])
    return [names for names in groups.values() if len(names) > 1]


def close(summary: pl.DataFrame) -> list[Measure]:
    """The measures on which all policies lie within one per cent of each other."""
    found = []
    for measure in present(summary):
        known = list(values(summary, measure, complete(summary)).values())
        if len(known) > 1 and max(known) - min(known) <= CLOSE * max(abs(v) for v in known):
            found.append(measure)
    return found


def bound_of(summary: pl.DataFrame, column: str) -> float | None:
    """The lower bound of a measure, None when there is none."""
    rows = summary.filter(pl.col("policy") == BOUND)
    if rows.is_empty() or column not in rows.columns:
        return None
    value: float | None = rows[column][0]
    return value
