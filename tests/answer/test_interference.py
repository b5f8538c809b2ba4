"""Facts of bindings: better is less, few orders tell nothing, and two measures may disagree."""

from __future__ import annotations

import polars as pl
import pytest

from tracekit.answer.production import facts_of_binding
from tracekit.base.facts import Fact
from tracekit.binding.tables import DIFFERENCE

SUMMARY = pl.DataFrame(
    {"policy": ["a"], "inflation_vcpus": [1.0], "bound_vcpus": [2.0], "nodes_used_max": [1]}
)


def facts(share: float, *, separated: bool = True, repeats: int = 6) -> list[Fact]:
    """Of one way that loses two vCPUs less than another."""
    pair = {**dict.fromkeys(DIFFERENCE), "policy": "a", "against": "b", "repeats": repeats}
    rows = [
        {**pair, "measure": name, "difference_mean": by, "difference_low": by - 0.01,
         "difference_high": by + 0.01, "separated": sure}
        for name, by, sure in (
            ("inflation_vcpus", -2.0, True), ("inflation_mean_fraction", share, separated)
        )
    ]  # fmt: skip
    result = facts_of_binding(pl.DataFrame(rows, schema=DIFFERENCE), SUMMARY)
    return [one for one in result if one.kind == "binding"]


@pytest.mark.parametrize(
    ("share", "separated", "opposite"),
    [(0.02, True, True), (0.02, False, False), (-0.02, True, False)],
)
def test_two_measures_that_disagree_are_a_fact(
    share: float, separated: bool, opposite: bool
) -> None:
    first, *more = facts(share, separated=separated)
    assert (first.verdict, first.value, first.low) == ("better", -2.0, -2.01)
    assert [one.because for one in more] == ["share_disagrees"] * opposite


def test_few_orders_call_nothing_better() -> None:
    few, first, *_ = facts(-0.02, repeats=5)
    assert (few.because, few.about["orders"], few.about["needed"]) == ("few_orders", 5, 6)
    assert (first.verdict, first.low, first.weight) == ("cannot_tell", None, 3)
