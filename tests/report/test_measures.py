"""Values as pages write them, and the measure that a report ranks by."""

from __future__ import annotations

import pytest
from report_runs_support import manifest, repeats_frame, summary_frame

from tracekit.answer.amounts import decimals, difference_text, value_text, way
from tracekit.answer.standings import Difference
from tracekit.replay.measures import compared
from tracekit.replay.runs.shown import shown
from tracekit.report import measures
from tracekit.report.data import Data
from tracekit.report.measures import headline, named

Rows = dict[str, tuple[float, float, int]]

TEXTS = [
    ("cpu_max_fraction", 1.026, "102.6 %"),
    ("overloaded_node_steps", 1234, "1,234"),
    ("imbalance_mean", 0.04744, "0.0474"),
    ("imbalance_mean", None, "\u2013"),
]


@pytest.mark.parametrize(("column", "value", "text"), TEXTS)
def test_text(column: str, value: float | None, text: str) -> None:
    assert measures.text(compared()[column], value).replace("\u00a0", " ") == text


DECIMALS = [(None, 1), (0.0, 1), (12.0, 0), (3.0, 0), (1.4, 1), (0.3, 1), (0.14, 2), (0.0001, 2)]


@pytest.mark.parametrize(("reach", "expected"), DECIMALS)
def test_as_many_digits_as_the_interval_allows(reach: float | None, expected: int) -> None:
    assert decimals(reach) == expected


VALUES = [
    ("cpu_max_fraction", 0.8461, 0.003, "84.6 \u00b1 0.3 %"),
    ("cpu_max_fraction", 0.8461, 0.03, "85 \u00b1 3 %"),
    ("cpu_max_fraction", 0.8461, None, "84.6 %"),
    ("cpu_max_fraction", 0.00000001, 0.00000003, "under 0.01 %"),
    ("overloaded_node_steps", 101.5, 20.0, "102 \u00b1 20"),
    ("overloaded_node_steps", 3.0, None, "3"),
    ("imbalance_mean", 0.0471, 0.0002, "0.04710 \u00b1 0.00020"),
    ("imbalance_mean", float("nan"), None, "\u2013"),
    # at most four digits that mean something; what is narrower than the last one is not printed
    ("imbalance_mean", 1.42791, 0.00008, "1.43"),
    ("nodes_used_mean", 102.742759, 0.000003, "103"),
    ("nodes_used_mean", 1102.74, 0.04, "1,103"),
]


@pytest.mark.parametrize(("column", "value", "reach", "text"), VALUES)
def test_a_value_with_its_interval(
    column: str, value: float, reach: float | None, text: str
) -> None:
    assert value_text(compared()[column], value, reach).replace("\u00a0", " ") == text


def _difference(mean: float, low: float | None, high: float | None, *, apart: bool) -> Difference:
    return Difference(
        policy="a", other="b", measure="", mean=mean, low=low, high=high, apart=apart, orders=8
    )


@pytest.mark.parametrize(
    ("value", "reach", "text"),
    [(102.742759, 0.000003, "102.7"), (1.42791, 0.00008, "1.428"), (84.61, 0.3, "84.6 \u00b10.3")],
)
def test_the_terminal_has_the_same_rule(value: float, reach: float, text: str) -> None:
    assert shown(compared()["imbalance_mean"], value, reach) == text


DIFFERENCES = [
    ("cpu_max_fraction", (-0.181, -0.184, -0.178), "\u221218.1 pp (\u221218.4 to \u221217.8)"),
    ("cpu_max_fraction", (0.05, None, None), "+5.0 pp"),
    ("cpu_max_fraction", (0.0, 0.0, 0.0), "none"),
    ("cpu_max_fraction", (1e-6, 1e-7, 2e-6), "under 0.01 pp"),
    ("overloaded_node_steps", (12.0, None, None), "+12"),
    # beyond chance leaves 0 out, and what is shown does, too
    ("cpu_max_fraction", (0.03, 0.0002, 0.07), "+3.00 pp (0.02 to 7.00)"),
]


@pytest.mark.parametrize(("column", "values", "text"), DIFFERENCES)
def test_a_difference_of_percentages_is_in_points(
    column: str, values: tuple[float, float | None, float | None], text: str
) -> None:
    found = _difference(*values, apart=True)
    assert difference_text(compared()[column], found).replace("\u00a0", " ") == text


def test_better_is_said_beyond_chance_alone() -> None:
    cpu = compared()["cpu_max_fraction"]
    assert way(cpu, _difference(-0.2, -0.3, -0.1, apart=True)) == "better"
    assert way(cpu, _difference(0.2, 0.1, 0.3, apart=True)) == "worse"
    assert way(cpu, _difference(-0.2, -0.5, 0.1, apart=False)) == ""
    assert way(compared()["nodes_used_max"], _difference(-9, -10, -8, apart=True)) == ""


def _data(rows: Rows) -> Data:
    frames = {"summary": summary_frame(rows), "repeats": repeats_frame(rows)}
    return Data(run=manifest(list(rows)), run_frames=frames)


def test_the_headline_is_a_measure_that_tells_policies_apart() -> None:
    data = _data({"a": (0.2, 0.9, 0), "b": (0.2, 0.5, 0), "c": (0.2, 0.7, 0)})
    found = headline(data)
    assert found is not None
    assert found.name == "cpu_max_fraction"
    assert named(data) == ("b",)


def test_where_nothing_tells_nobody_is_named() -> None:
    data = _data({"a": (0.2, 0.9, 0), "b": (0.2, 0.9, 0)})
    assert headline(data) is not None
    assert named(data) == ()
    assert headline(Data()) is None
