"""Budgets of disruption: what they allow by the controller's rules, and who may be evicted."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest
from replay_support import Row, changed, workload

from tracekit.base.errors import TracekitError
from tracekit.cluster.budgets import Budgets, budgets_of
from tracekit.policy.entrant import parse_entrant
from tracekit.replay.engine.engine import Engine


def stated(*rules: Mapping[str, object] | None) -> Budgets:
    named = [
        None if one is None else json.dumps([{"kind": "PodDisruptionBudget", "name": "web", **one}])
        for one in rules
    ]
    result = budgets_of(pl.Series(named, dtype=pl.String))
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("limit", "running", "expected", "allowed"),
    [
        ({"minAvailable": 3}, 5, 5, 2),
        ({"minAvailable": 3}, 2, 5, 0),
        ({"minAvailable": "50%"}, 5, 5, 2),  # 2.5 rounded up must run
        ({"maxUnavailable": "50%"}, 5, 5, 3),  # and may be missing
        ({"maxUnavailable": 1}, 5, 5, 1),
        ({"maxUnavailable": 1}, 4, 5, 0),
        ({"maxUnavailable": 9}, 4, 5, 4),
        ({"maxUnavailable": 0}, 5, 5, 0),
    ],
)
def test_what_a_budget_allows_is_what_the_disruption_controller_says(
    limit: dict[str, object], running: int, expected: int, allowed: int
) -> None:
    budgets = stated(*[limit] * 6, None)
    at = np.arange(7)
    assert budgets.allowed(at < running, at < expected).tolist() == [allowed]


def test_one_that_nobody_should_run_of_allows_nothing() -> None:
    assert stated({"minAvailable": 0}).allowed(*[np.zeros(1, np.bool_)] * 2).tolist() == [0]


def test_an_eviction_that_is_not_allowed_is_refused() -> None:
    budgets = stated(*[{"maxUnavailable": 2}] * 4, None)
    granted = budgets.granted(np.array([3, 4, 1, 0]), np.array([2]))
    assert granted.tolist() == [3, 4, 1]
    twice = dataclasses.replace(
        budgets, names=("a", "b"), of=np.array([[0, 1]]), amount=np.array([0, 0])
    )
    assert not len(twice.granted(np.array([0]), np.array([5, 5])))


def test_a_budget_without_an_amount_is_named() -> None:
    with pytest.raises(TracekitError, match="says no amount"):
        stated({"minAvailable": "most"})


def test_a_rebalancer_evicts_no_more_than_a_budget_allows() -> None:
    rows: list[Row] = [(0, 9000, 1, 1)] * 4
    load = workload([(8, 8)] * 2, rows, steps=4)
    name = "first_fit+pod_life_time[interval_ms=1000,longest_ms=0]"
    entrant = parse_entrant(name)
    placement, rebalance = entrant.placement, entrant.rebalance

    def moves(budgets: Budgets | None) -> tuple[int, int]:
        """The most that move in a step, and how many a budget leaves where they are."""
        given = changed(load, rules={"budgets": budgets})
        engine = Engine(given, placement, np.random.default_rng(0), rebalance=rebalance)
        replayed = engine.run()
        stays = replayed.stays.filter(reason="PodDisruptionBudget")["containers"]
        return max(replayed.steps["moves"].to_list()), int(stays.sum())

    assert moves(None) == (4, 0)
    assert moves(stated(*[{"maxUnavailable": 1}] * 4)) == (1, 3)
    assert moves(stated(*[{"minAvailable": "100%"}] * 4)) == (0, 4)


def test_who_waits_in_production_is_missing_already() -> None:
    """Of eleven two wait: one may be missing, so that none of the nine may go."""
    rule = '[{"kind": "PodDisruptionBudget", "name": "kafka", "maxUnavailable": 1}]'
    made, alone = (
        budgets_of(pl.Series([rule] * 9), pl.Series([rule] * waiting)) for waiting in (2, 0)
    )
    assert made is not None
    assert alone is not None
    every = np.ones(9, dtype=np.bool_)
    assert made.allowed(every, every).tolist() == [0]
    assert alone.allowed(every, every).tolist() == [1]
