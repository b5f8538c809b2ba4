"""Where all nodes break a limit in one order of arrival and not at the mean, as a run is judged."""

from __future__ import annotations

from typing import Any

import pytest

from tracekit.replay.studies.shrink.search.at_the_mean import at_the_mean
from tracekit.replay.studies.shrink.search.limits import Limits, parse_limits

NAME = "overloaded_node_steps"
LIMITS = (f"{NAME} <= 15", "cpu_p99_fraction <= 1")


def _limits() -> Limits:
    return parse_limits(LIMITS, ["best_fit"], observed={})


def _rows(*overload: float, full: float = 0.9) -> list[dict[str, Any]]:
    return [{NAME: one, "cpu_p99_fraction": full} for one in overload]


@pytest.mark.parametrize(
    ("rows", "texts"),
    [
        (_rows(3, 1, 17), [f"{NAME} <= max(15, base)", LIMITS[1]]),
        (_rows(3, 1, 15), None),
        (_rows(30, 31, 17), None),
        (_rows(3, 1, 17, full=1.1), None),
    ],
    ids=["one order", "none", "at the mean, too", "another limit at the mean"],
)
def test_a_single_order_asks_for_no_more(
    rows: list[dict[str, Any]], texts: list[str] | None
) -> None:
    found = at_the_mean(_limits(), rows)
    assert (None if found is None else [one.text for one in found.given]) == texts


def test_an_order_of_its_own_base_is_what_counts() -> None:
    found = at_the_mean(_limits(), _rows(3, 1, 17))
    assert found is not None
    for base, there, holds in ((17, 17, True), (17, 18, False), (1, 15, True), (1, 16, False)):
        row = {NAME: there, "cpu_p99_fraction": 0.9, "pending": 0, "pending_container_steps": 0}
        broken = found.first_broken("best_fit", {**row, NAME: base}, row)
        assert (broken is None) is holds
