"""Which policy is best, and when none is."""

from __future__ import annotations

import pytest
from report_runs_support import summary_frame

from tracekit.replay.measures import compared
from tracekit.report import measures

Rows = dict[str, tuple[float, float, int]]

#               mean imbalance, highest CPU, containers waiting
APART: Rows = {
    "observed": (0.01, 0.1, 0),
    "a": (0.2, 0.9, 0),
    "b": (0.3, 0.8, 0),
    "bound": (0, 0, 0),
}
SAME: Rows = {"a": (0.2, 0.9, 0), "b": (0.2, 0.9, 0)}
WAITING: Rows = {"a": (0.2, 0.9, 0), "b": (0.1, 0.5, 4), "c": (0.3, 0.9, 0)}
CLOSE: Rows = {"a": (0.2000001, 0.9, 0), "b": (0.2, 0.8, 0)}

BEST: list[tuple[str, Rows, str, list[str]]] = [
    ("production and the bound do not compete", APART, "imbalance_mean", ["a"]),
    ("each measure has its own winner", APART, "cpu_max_fraction", ["b"]),
    ("nobody wins where all are the same", SAME, "imbalance_mean", []),
    ("who left containers waiting carries less", WAITING, "imbalance_mean", ["a"]),
    ("equal among those that compete", WAITING, "cpu_max_fraction", []),
    ("fewest waiting wins", WAITING, "pending", ["a", "c"]),
    ("what reads the same is the same", CLOSE, "imbalance_mean", []),
    ("neither way is better", APART, "nodes_used_max", []),
]


@pytest.mark.parametrize(
    ("rows", "column", "expected"), [case[1:] for case in BEST], ids=[c[0] for c in BEST]
)
def test_best(rows: Rows, column: str, expected: list[str]) -> None:
    assert measures.best(summary_frame(rows), compared()[column]) == expected


def test_policies_that_nothing_separates_are_named() -> None:
    assert measures.alike(summary_frame({**SAME, "c": (0.3, 0.9, 0)})) == [["a", "b"]]
    assert measures.alike(summary_frame(APART)) == []


def test_measures_within_one_per_cent_are_close() -> None:
    rows: Rows = {"a": (0.1000, 0.9, 0), "b": (0.1009, 0.5, 0)}
    columns = [measure.name for measure in measures.close(summary_frame(rows))]
    assert "imbalance_mean" in columns
    assert "cpu_max_fraction" not in columns


TEXTS = [
    ("cpu_max_fraction", 1.026, "102.6\u00a0%"),
    ("overloaded_node_steps", 1234, "1,234"),
    ("imbalance_mean", 0.04744, "0.0474"),
    ("imbalance_mean", None, "\u2013"),
]


@pytest.mark.parametrize(("column", "value", "text"), TEXTS)
def test_text(column: str, value: float | None, text: str) -> None:
    assert measures.text(compared()[column], value) == text
