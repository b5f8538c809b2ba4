"""Shares far above 1 are percentages or amounts, and the file that gives them is refused."""

from __future__ import annotations

import polars as pl
import pytest

from tracekit.base.errors import TracekitError
from tracekit.intake.read.arrow_rows import Fractions


def _noted(*batches: list[float], unit: str = "fraction", column: str = "amount") -> Fractions:
    found = Fractions()
    for batch in batches:
        rows = {"resource": ["cpu"] * len(batch), column: batch, "unit": [unit] * len(batch)}
        found.note("node_resource", pl.DataFrame(rows))
    return found


@pytest.mark.parametrize("batches", [([50.0, 25.0], [0.5]), ([4000.0], [5000.0], [1.0])])
def test_most_above_1_over_all_batches_is_refused(batches: tuple[list[float], ...]) -> None:
    with pytest.raises(TracekitError):
        _noted(*batches).check("x.csv")


@pytest.mark.parametrize(
    "noted",
    [
        _noted([0.5, 1.0, 1.0]),
        _noted([2.0, 0.5], [0.1]),
        _noted([50.0, 60.0], unit="cores"),
        _noted([]),
        _noted([float("nan"), float("nan"), 0.5]),
    ],
)
def test_shares_as_they_are_pass(noted: Fractions) -> None:
    noted.check("x.csv")
