"""What is wrong with a threshold is told with what would be right."""

from __future__ import annotations

import pytest

from tracekit.errors import TracekitError
from tracekit.replay.runs.thresholds import parse_threshold

ROW = {"policy": "lra", "cpu_max_fraction": 0.5, "cpu_max_fraction_low": 0.4, "nodes_used_max": 9}


@pytest.mark.parametrize("option", ["--fail-if", "--limit"])
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("cpu_max_fraction <= 80", "0.8"),
        ("cpu_max <= 85.5", "0.855"),
        ("lra: 90 > memory_max_fraction", "0.9"),
    ],
)
def test_a_share_in_percent_is_no_share(text: str, meant: str, option: str) -> None:
    with pytest.raises(TracekitError, match="is a share, 1 is all") as told:
        parse_threshold(text, option)
    assert told.value.hint == f"did you mean {meant}?"


@pytest.mark.parametrize(
    "text", ["cpu_max_fraction <= 4", "nodes_used_max <= 80", "cpu_max_fraction > 1.05 * base"]
)
def test_what_may_be_meant_is_taken(text: str) -> None:
    assert parse_threshold(text).text == text


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("cpu_max_fractoin > 1", "did you mean 'cpu_max_fraction'?"),
        ("highest_cpu_of_nodes > 1", "near it: cpu_max_fraction"),
        ("fullness > 1", "all of them: tracekit list measures"),
    ],
)
def test_a_measure_that_is_not_there_has_few_names_in_its_place(text: str, hint: str) -> None:
    with pytest.raises(TracekitError, match="has no measure") as told:
        parse_threshold(text).met(ROW, ROW)
    assert str(told.value.hint).startswith(hint)
    assert len(str(told.value.hint)) < 120


@pytest.mark.parametrize(
    ("text", "base", "value", "met"),
    [
        ("cpu_max_fraction <= max(1, base)", 0.8, 1.0, True),
        ("cpu_max_fraction <= max(1, base)", 1.2, 1.2, True),
        ("cpu_max_fraction <= max(1, base)", 1.2, 1.3, False),
        ("cpu_max_fraction <= min(0.9, base)", 1.2, 0.95, False),
    ],
)
def test_the_larger_and_the_smaller_of_two(text: str, base: float, value: float, met: bool) -> None:
    one = parse_threshold(text, "--limit")
    assert one.measures == ["cpu_max_fraction"]
    assert one.met({"cpu_max_fraction": base}, {"cpu_max_fraction": value}) is met


@pytest.mark.parametrize("text", ["abs(base) > 1", "max() > base", "max(1, key=base) > base"])
def test_no_other_function_is_called(text: str) -> None:
    with pytest.raises(TracekitError, match="which is no number, measure or sum"):
        parse_threshold(text)
