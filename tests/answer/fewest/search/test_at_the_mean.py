"""Where all nodes break a limit in one order of arrival and not at the mean, as a run is judged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from replay_support import workload

from tracekit.answer.fewest.search.at_the_mean import at_the_mean
from tracekit.answer.fewest.search.few_nodes import Came
from tracekit.answer.fewest.search.limits import Limits, parse_limits
from tracekit.answer.fewest.search.trials import Trials
from tracekit.arrays import IntArray
from tracekit.replay.policy.parse import parse_policy

NAME = "overloaded_node_steps"
LIMITS = (f"{NAME} <= 15", "cpu_p99_fraction <= 1")


def _limits() -> Limits:
    return parse_limits(LIMITS, ["best_fit"], observed={})


def _rows(*overload: float, full: float = 0.9) -> list[dict[str, Any]]:
    return [{NAME: one, "cpu_p99_fraction": full} for one in overload]


@pytest.mark.parametrize(
    ("rows", "at_mean"),
    [
        (_rows(3, 1, 17), {LIMITS[0]}),
        (_rows(3, 1, 15), None),
        (_rows(30, 31, 17), None),
        (_rows(3, 1, 17, full=1.1), None),
    ],
    ids=["one order", "none", "at the mean, too", "another limit at the mean"],
)
def test_a_single_order_asks_for_no_more(
    rows: list[dict[str, Any]], at_mean: set[str] | None
) -> None:
    found = at_the_mean(_limits(), rows)
    assert (None if found is None else set(found.at_mean)) == at_mean


#: The policy on all nodes, in three orders of arrival.
_ALL = (3.0, 1.0, 17.0)


@pytest.mark.parametrize(
    ("there", "holds", "how"),
    [
        ((17.0, 14.0, 14.0), True, ""),
        ((0.0, 0.0, 44.0), True, ""),
        ((15.0, 15.0, 18.0), False, "16, above 15 at the mean of the orders of arrival"),
    ],
)
def test_what_holds_at_the_mean_may_break_in_an_order(
    there: tuple[float, ...], holds: bool, how: str
) -> None:
    limits = at_the_mean(_limits(), _rows(*_ALL))
    assert limits is not None
    tried = _trials(limits, there)
    assert tried.hold_all(1, range(3)) is holds
    told = [None if one.at_mean is None else one.at_mean.how_far for one in tried.trials()]
    assert told == [how or None] * 3
    assert all(
        one.room[LIMITS[0]] == pytest.approx((15 - sum(there) / 3) / 15) for one in tried.trials()
    )
    assert [tried.holds_alone(at, 1) for at in range(3)] == [one <= 15 for one in there]


@pytest.mark.parametrize(
    ("there", "holds"),
    [
        ((1.05, 1.3, 1.05), True),
        ((1.1, 1.3, 1.15), False),
        # half a point more is too little to count
        ((1.134, 1.134, 1.134), True),
        ((1.14, 1.14, 1.14), False),
    ],
)
def test_without_limits_given_the_mean_is_no_worse_than_on_all_nodes(
    there: tuple[float, ...], holds: bool
) -> None:
    """On all nodes 113 % at the mean; production fills a node to 180 %."""
    observed = {NAME: 0.0, "cpu_p99_fraction": 1.8, "memory_p99_fraction": 0.5}
    observed |= {"cpu_max_fraction": 1.8, "memory_max_fraction": 0.5}
    limits = parse_limits([], ["first_fit"], observed=observed, node_steps=1e6)
    on_all = [{**observed, "cpu_p99_fraction": one} for one in (1.0, 1.2, 1.19)]
    on_one = [{**observed, "cpu_p99_fraction": one} for one in there]
    assert _tried(limits, on_all, on_one).hold_all(1, range(3)) is holds


def _trials(limits: Limits, there: tuple[float, ...]) -> Trials:
    return _tried(limits, _rows(*_ALL), _rows(*there))


def _tried(limits: Limits, on_all: list[dict[str, Any]], on_one: list[dict[str, Any]]) -> Trials:
    """Replays that come to these rows on both nodes and on one, order by order."""
    load = workload([(10, 10)] * 2, [(0, 9000, 1, 1)] * 2)
    nobody = {"pending": 0, "pending_container_steps": 0}

    def ask(order: int, kept: IntArray | None) -> Came:
        row = (on_all if kept is None else on_one)[order]
        return Came({**row, **nobody}, np.zeros(2, np.int64) if order == 0 else None)

    return Trials(load, parse_policy("first_fit"), limits, 0, ask, repeats=len(on_all))
