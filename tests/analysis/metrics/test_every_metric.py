"""Promises that every metric keeps."""

from __future__ import annotations

import pytest

from tracekit.analysis.metrics import all_metrics

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
