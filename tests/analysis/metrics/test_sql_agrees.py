"""Definitions that stand in a metric and in SQL have the same limits."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tracekit.analysis.metrics import CONSTANT_VARIANCE
from tracekit.analysis.metrics.correlation import strength
from tracekit.base.constants import ZONE_LIMIT
from tracekit.store.sqlfiles import all_queries, default_of


def test_the_zone_limit() -> None:
    assert default_of("usage/node_profile", "zone_limit") == ZONE_LIMIT


def test_constant_series() -> None:
    found = {
        float(one)
        for query in all_queries().values()
        for one in re.findall(r"> (1e-\d+)", query.text)
    }
    assert found == {CONSTANT_VARIANCE}


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
