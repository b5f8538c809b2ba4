"""Metrics on worked examples and on their edges."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracekit.analysis.metrics import CONSTANT_VARIANCE, all_metrics
from tracekit.analysis.metrics.correlation import pearson_r, strength, zone
from tracekit.analysis.metrics.load import (
    debris_rate,
    imbalance,
    overload,
    spread,
    utilization_difference,
)
from tracekit.base.constants import ZONE_LIMIT
from tracekit.store.sqlfiles import all_queries, default_of

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "metrics.json").read_text())["cases"]


def golden(name: str) -> tuple[Any, Any]:
    return GOLDEN[name]["input"], GOLDEN[name]["expected"]


@pytest.mark.parametrize("node", GOLDEN["analytics.zones_and_G"]["input"])
def test_correlation_zone_and_difference(node: str) -> None:
    given, expected = golden("analytics.zones_and_G")
    cpu, memory = given[node]
    r = pearson_r(cpu, memory)
    assert float(r) == pytest.approx(float(expected[node]["r"]), abs=1e-9, nan_ok=True)
    assert str(zone(r)) == expected[node]["zone"]
    assert str(strength(r)) == expected[node]["band"]
    assert float(utilization_difference(cpu, memory)) == pytest.approx(expected[node]["G"])


def test_each_of_many_series_is_correlated_by_itself() -> None:
    cpu, memory = np.random.default_rng(0).random((2, 3, 9))
    expected = [np.corrcoef(*pair)[0, 1] for pair in zip(cpu, memory, strict=True)]
    assert pearson_r(cpu, memory).tolist() == pytest.approx(expected)


def test_zone_and_strength_at_their_edges() -> None:
    given, expected = golden("analytics.zone_edges")
    r = [float(value) for value in given["r"]]
    assert zone(r).tolist() == expected["zone"]
    assert strength(r).tolist() == expected["band"]


def test_debris_rate() -> None:
    given, expected = golden("analytics.debris")
    results = [float(debris_rate(case["U"], case["T"], case["lam"])) for case in given["cases"]]
    assert results == pytest.approx(expected, abs=1e-9)


def test_utilization_difference() -> None:
    given, expected = golden("analytics.util_diff")
    assert float(utilization_difference(given["cpu"], given["mem"])) == pytest.approx(expected)


def test_imbalance_of_the_worked_example() -> None:
    use = np.array([[0.5, 0.7, 0.6, 0.4], [0.8, 0.8, 0.8, 0.8], [0.2, 0.9, 0.3, 0.6]])
    assert imbalance(use) == pytest.approx([0.22360679774998, 0.0, 0.54772255750517])


def test_spread_is_over_nodes_not_resources() -> None:
    # cpu 0.2..0.9, memory 0.5..0.6
    assert spread([[0.2, 0.5], [0.9, 0.6]]) == pytest.approx([0.7, 0.1])


def test_overload_counts_only_what_is_beyond() -> None:
    # cpu: 3 over of 20; memory: none, though one node is nearly empty
    assert overload([[13, 1], [2, 9]], [[10, 10], [10, 10]]) == pytest.approx([0.15, 0.0])


# Promises that every metric keeps.


METRICS = all_metrics()


@pytest.mark.parametrize("name", METRICS)
def test_is_documented(name: str) -> None:
    metric = METRICS[name]
    assert metric.title
    assert metric.source
    assert metric.unit in {"0..1", "-1..1", "1/h", "count", "label", "as given"}
    assert "shape" in (metric.function.__doc__ or "")


@pytest.mark.parametrize("name", METRICS)
def test_function_carries_the_name(name: str) -> None:
    assert METRICS[name].function.__name__ == name


# Definitions that stand in a metric and in SQL have the same limits.


def test_the_zone_limit() -> None:
    assert default_of("usage/node_profile", "zone_limit") == ZONE_LIMIT


def test_constant_series() -> None:
    names = {
        float(one)
        for query in all_queries().values()
        for one in re.findall(r"> (1e-\d+)", query.text)
    }
    assert names == {CONSTANT_VARIANCE}


@pytest.mark.parametrize("name", ["strong", "moderate", "low"])
def test_strength(name: str) -> None:
    text = all_queries()["usage/node_profile"].text
    ((sign, edge),) = re.findall(
        rf"pearson_r\) (>=?) (?:coalesce.*, )?([\d.]+)\)? THEN '{name}'", text
    )
    at = float(edge)
    below = np.nextafter(at, 0) if sign == ">=" else at
    above = at if sign == ">=" else np.nextafter(at, 1)
    assert strength(above) == name
    assert strength(below) != name


def test_debris_rate_leaves_out_what_a_node_does_not_have() -> None:
    assert debris_rate([[5, 3], [0, 3]], [[10, 0], [0, 0]]).tolist()[0] == 0.5
    assert math.isnan(float(debris_rate([1.0], [0.0])))


def test_imbalance_as_printed() -> None:
    given, expected = golden("tbesk.imbalance")
    result = imbalance(given["A"])
    assert result == pytest.approx(expected["Z"], abs=1e-9)
    assert float(result.mean()) == pytest.approx(expected["Z_avg"])


def test_constant_series_have_no_correlation() -> None:
    level = np.full(100, 0.7)
    assert np.isnan(pearson_r(level + 1e-13 * np.arange(100), np.linspace(0, 1, 100)))
    # the limit is of the variance, however many series there are
    turns = np.where(np.arange(100) % 2, 1.0, -1.0)
    small = np.sqrt(CONSTANT_VARIANCE) * np.array([[0.9], [1.1], [0.9]]) * turns
    assert np.isnan(pearson_r(small, np.tile(turns, (3, 1)))).tolist() == [True, False, True]
