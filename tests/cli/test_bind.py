"""What `tracekit bind` says of two policies."""

from __future__ import annotations

import polars as pl
import pytest

from tracekit.binding.tables import DIFFERENCE
from tracekit.cli.bind import sentences

CASES = {
    "a part of what the other loses": (-2.0, -0.25, "a loses 2.00 vCPUs less than b (25 % less)"),
    "more than the other": (6.0, 2.0, "a loses 6.00 vCPUs more than b (200 % more)"),
    "less than nothing": (-9.7, -3.2, "a loses 9.70 vCPUs less than b"),
    "beside nothing": (1.5, None, "a loses 1.50 vCPUs more than b"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_share_is_told_where_it_has_a_meaning(case: str) -> None:
    apart, share, wanted = CASES[case]
    row = {
        **dict.fromkeys(DIFFERENCE),
        "policy": "a",
        "against": "b",
        "measure": "inflation_vcpus",
        "repeats": 1,
        "difference_mean": apart,
        "share_mean": share,
    }
    (said,) = sentences(pl.DataFrame([row], schema=DIFFERENCE))
    assert said == f"{wanted}; one order of arrival: an interval needs 6 (--repeat 6)"


@pytest.mark.parametrize(
    ("share", "separated", "opposite"),
    [(0.02, True, True), (0.02, False, False), (-0.02, True, False)],
)
def test_two_measures_that_disagree_are_told(share: float, separated: bool, opposite: bool) -> None:
    pair = {**dict.fromkeys(DIFFERENCE), "policy": "a", "against": "b", "repeats": 6}
    rows = [
        {**pair, "measure": name, "difference_mean": by, "difference_low": by - 0.01,
         "difference_high": by + 0.01, "separated": sure}
        for name, by, sure in (
            ("inflation_vcpus", -2.0, True), ("inflation_mean_fraction", share, separated)
        )
    ]  # fmt: skip
    _, *more = sentences(pl.DataFrame(rows, schema=DIFFERENCE))
    told = "the mean share says the opposite of a and b"
    assert [one.startswith(told) for one in more] == [True] * opposite
