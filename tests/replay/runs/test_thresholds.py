"""What is wrong with a threshold is told with what would be right."""

from __future__ import annotations

import pytest

from tracekit.base.errors import TracekitError
from tracekit.replay.measures import all_measures
from tracekit.replay.runs.thresholds import parse_threshold

ROW = {"policy": "lra", "cpu_max_fraction": 0.5, "cpu_max_fraction_low": 0.4, "nodes_used_max": 9}


@pytest.mark.parametrize(
    ("option", "text", "meant"),
    [
        ("--fail-if", "cpu_max_fraction <= 80", "0.8"),
        ("--fail-if", "cpu_max <= 85.5", "0.855"),
        ("--limit", "cpu_max_fraction <= 80", "0.8"),
        ("--limit", "lra: 90 > memory_max_fraction", "0.9"),
    ],
)
def test_a_share_in_percent_is_no_share(option: str, text: str, meant: str) -> None:
    with pytest.raises(TracekitError) as raised:
        parse_threshold(text, option)
    assert meant in str(raised.value.hint)


@pytest.mark.parametrize(
    "text", ["cpu_max_fraction <= 4", "nodes_used_max <= 80", "cpu_max_fraction > 1.05 * base"]
)
def test_what_may_be_meant_is_taken(text: str) -> None:
    assert parse_threshold(text).text == text


@pytest.mark.parametrize(
    "text", ["cpu_max_fractoin > 1", "fullness > base.fullness", "base.base > 1"]
)
def test_a_measure_that_is_not_there_is_an_error(text: str) -> None:
    with pytest.raises(TracekitError):
        parse_threshold(text).met(ROW, ROW)


def test_a_limit_holds_in_each_order_and_has_no_worst() -> None:
    assert parse_threshold("worst(cpu_max) > 0.9").of_worst
    assert not parse_threshold("cpu_max > 0.9").of_worst
    with pytest.raises(TracekitError):
        parse_threshold("worst(cpu_max_fraction) <= 0.9", "--limit")


@pytest.mark.parametrize("number", ["1e999", "-1e999", f"1{'0' * 400}", "True"])
def test_a_number_without_end_is_no_limit(number: str) -> None:
    with pytest.raises(TracekitError):
        parse_threshold(f"pending > {number}")


@pytest.mark.parametrize("joined", ["and", "or"])
@pytest.mark.parametrize("option", ["--fail-if", "--limit"])
def test_two_comparisons_are_two_thresholds(option: str, joined: str) -> None:
    with pytest.raises(TracekitError):
        parse_threshold(f"cpu_max <= 0.6 {joined} memory_max <= 0.8", option)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("worst(cpu_max) > 0.85", 0.9),
        ("worst(cpu_max) - cpu_max > 0.2", pytest.approx(0.2)),
        ("worst(base) > 1", 0.7),
        ("worst(base.cpu_max) > 1", 0.7),
        # of one order the worst is the value
        ("worst(memory_max) > 1", 0.3),
    ],
)
def test_the_worst_order_is_a_value_of_its_own(text: str, value: float) -> None:
    new = {"cpu_max_fraction": 0.7, "worst(cpu_max_fraction)": 0.9, "memory_max_fraction": 0.3}
    base = {"cpu_max_fraction": 0.6, "worst(cpu_max_fraction)": 0.7}
    named = parse_threshold(f"cpu_max + 0 > {text.partition(' >')[0]}" if "base" in text else text)
    assert named.sides(base, new)[-1 if "base" in text else 0] == value


@pytest.mark.parametrize(
    ("text", "base_value", "of_worst"),
    [
        ("worst(cpu_max) > base", 0.7, (True, True)),
        ("worst(cpu_max) > worst(base)", 0.7, (True, True)),
        ("worst(cpu_max) > base.cpu_max", 0.6, (True, False)),
        ("cpu_max > base", 0.6, (False, False)),
        ("cpu_max > worst(base)", 0.7, (False, True)),
        ("cpu_max > worst(base.cpu_max)", 0.7, (False, True)),
        ("worst(cpu_max) > 0.85", 0.85, (True, True)),
    ],
)
def test_beside_the_worst_order_base_is_of_its_own(
    text: str, base_value: float, of_worst: tuple[bool, bool]
) -> None:
    """A run failed 'worst(cpu_max) > 1.05*base' beside itself."""
    row = {"cpu_max_fraction": 0.6, "worst(cpu_max_fraction)": 0.7}
    threshold = parse_threshold(text)
    assert threshold.sides(row, row)[1] == base_value
    assert (threshold.new_of_worst, threshold.base_of_worst) == of_worst


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cpu_max > 0.5", "cpu_max_fraction"),
        ("cpu_max > base", "cpu_max_fraction"),
        ("cpu_max > worst(base.cpu_stranded_share)", "cpu_stranded_share"),
        ("cpu_max > 2 * base.cpu_stranded_share", "cpu_stranded_share"),
        ("cpu_max > base + base.cpu_stranded_share", "cpu_max_fraction"),
        ("cpu_max > base.cpu_max + base.cpu_stranded_share", "cpu_max_fraction"),
        ("cpu_max > base.imbalance_mean + base.cpu_stranded_share", None),
    ],
)
def test_the_base_is_of_the_measure_that_the_expression_names(
    text: str, expected: str | None
) -> None:
    assert parse_threshold(text).measure_of_base == expected


def test_a_measure_without_a_worse_end_has_no_worst_order() -> None:
    neither = next(name for name, one in all_measures().items() if one.better is None)
    with pytest.raises(TracekitError):
        parse_threshold(f"worst({neither}) > 1")


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
