"""Values with their intervals, as the terminal writes them."""

from __future__ import annotations

import pytest

from tracekit.replay.measures import find_measure
from tracekit.replay.runs.shown import shown

CASES = [
    ("cpu_max_fraction", 0.9625, 0.0035, "96.2 ±0.4"),
    ("cpu_max_fraction", 0.9625, 0.002, "96.25 ±0.20"),
    ("cpu_max_fraction", 0.5, None, "50.0"),
    ("overloaded_node_steps", 5.0, 23.0, "5 (0 to 28)"),
    ("overloaded_node_steps", 30.0, 4.0, "30 ±4"),
    ("overloaded_node_steps", 0.2, 1.1, "0.2 (0 to 1.3)"),
    ("nodes_used_mean", 12.0, 0.0, "12"),
]


@pytest.mark.parametrize(("name", "mean", "reach", "text"), CASES)
def test_a_value_and_its_interval(name: str, mean: float, reach: float | None, text: str) -> None:
    measure = find_measure(name)
    assert measure is not None
    assert shown(measure, mean, reach) == text
