"""What the measures of a replay are called on the page, and which way is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from tracekit.replay.runs.run import BOUND
from tracekit.report.policies import tested
from tracekit.report.words import number, percent

#: Closer than this, relative to the larger, two values count as equal.
SAME = 1e-9
#: Policies that differ by less than this on a measure are not told apart by it.
CLOSE = 0.01


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A column of ``summary.parquet``.

    Parameters
    ----------
    best : {'low', 'high', None}
        Which end is better; None where neither is.
    """

    column: str
    label: str
    best: Literal["low", "high"] | None
    meaning: str

    def text(self, value: float | None) -> str:
        """A value as tables show it."""
        if value is None:
            return "\u2013"
        if self.column.endswith(("_fraction", "_share")):
            return percent(value, 1)
        return f"{value:,}" if isinstance(value, int) else number(value)


MEASURES = (
    Measure(
        column="imbalance_mean",
        label="Imbalance Z, mean",
        best="low",
        meaning="how unevenly a node's CPU and memory are used, over nodes and time",
    ),
    Measure(
        column="cpu_max_fraction",
        label="CPU, highest",
        best="low",
        meaning="the fullest any node ever was",
    ),
    Measure(
        column="memory_max_fraction",
        label="Memory, highest",
        best="low",
        meaning="the fullest any node ever was",
    ),
    Measure(
        column="cpu_spread_mean_fraction",
        label="CPU spread, mean",
        best="low",
        meaning="distance between the most and the least used node",
    ),
    Measure(
        column="memory_spread_mean_fraction",
        label="Memory spread, mean",
        best="low",
        meaning="distance between the most and the least used node",
    ),
    Measure(
        column="utilization_difference_mean_fraction",
        label="Utilization difference G, mean",
        best="low",
        meaning="distance between CPU and memory use of a node",
    ),
    Measure(
        column="debris_mean_fraction",
        label="Debris D, mean",
        best="low",
        meaning="share of CPU and memory that lies idle",
    ),
    Measure(
        column="overloaded_node_steps",
        label="Overloaded node-steps",
        best="low",
        meaning="how often a node needed more than it has",
    ),
    Measure(
        column="qos_share",
        label="QoS share, mean",
        best="high",
        meaning="share of containers on nodes that have enough for all they hold",
    ),
    Measure(
        column="nodes_used_max",
        label="Nodes used, most",
        best=None,
        meaning="nodes that held at least one container; fewer is better to save nodes,"
        " more is better to spread load",
    ),
    Measure(
        column="pending",
        label="Never placed",
        best="low",
        meaning="containers that no node had room for",
    ),
    Measure(
        column="moves",
        label="Moves",
        best=None,
        meaning="containers that a rebalancer moved; each costs a pause in its service",
    ),
)


def present(summary: pl.DataFrame) -> list[Measure]:
    """The measures that a summary has, in the order of the page."""
    return [measure for measure in MEASURES if measure.column in summary.columns]


def complete(summary: pl.DataFrame) -> list[str]:
    """Policies that left nothing waiting; only they carry the whole load and can be compared."""
    rows = summary.filter(pl.col("policy").is_in(tested(summary)))
    for column in ("pending", "pending_container_steps"):
        if column in rows.columns:
            rows = rows.filter(pl.col(column) == 0)
    return rows["policy"].to_list()


def values(summary: pl.DataFrame, measure: Measure, policies: Sequence[str]) -> dict[str, float]:
    """A measure's values by policy, without those that are not known."""
    known = dict(zip(summary["policy"], summary[measure.column], strict=True))
    return {name: known[name] for name in policies if known.get(name) is not None}


def best(summary: pl.DataFrame, measure: Measure) -> list[str]:
    """The policies with the best value; none where all are equal or neither way is better.

    Values that read the same in the table are equal. Policies that left containers waiting
    compete only on how many they left.
    """
    names = tested(summary) if measure.column == "pending" else complete(summary)
    found = values(summary, measure, names)
    shown = {name: measure.text(value) for name, value in found.items()}
    if measure.best is None or len(set(shown.values())) < 2:
        return []
    end = min(found.values()) if measure.best == "low" else max(found.values())
    return [name for name, text in shown.items() if text == measure.text(end)]


def alike(summary: pl.DataFrame) -> list[list[str]]:
    """Groups of policies that have the same value in every measure."""
    measures = present(summary)
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in summary.iter_rows(named=True):
        if row["policy"] in tested(summary):
            key = tuple(
                f"{row[m.column]:.9g}" if row[m.column] is not None else "" for m in measures
            )
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
