"""Percent of capacity, thresholds, order of nodes."""

from __future__ import annotations

import numpy as np
import pytest

from tracekit.policy.rebalance._eviction import target_amounts
from tracekit.policy.rebalance._snapshot_view import quality_of_service, turns
from tracekit.policy.rebalance._thresholds import (
    above,
    below,
    by_usage,
    clamped,
    mean_percent,
    percent_of,
    shifted,
)

NAN = np.nan


@pytest.mark.parametrize(
    ("used", "capacity", "expected"),
    [(50, 200, 25.0), (300, 200, 150.0), (5, 0, 0.0), (5, -1, 0.0)],
)
def test_percent(used: float, capacity: float, expected: float) -> None:
    assert percent_of([[used]], [[capacity]]).tolist() == [[expected]]


def test_what_is_unknown_on_either_side_stays_unknown() -> None:
    assert np.isnan(percent_of([[NAN, 1]], [[1, NAN]])).all()


def test_the_mean_is_over_the_nodes_that_report() -> None:
    found = mean_percent(np.array([[10.0, NAN, NAN], [30.0, 5.0, NAN]]))
    assert found[:2].tolist() == [20.0, 5.0]
    assert np.isnan(found[2])


def test_equal_to_the_limit_is_below_and_not_above() -> None:
    percent = np.array([[20.0, 20.0], [20.1, 0.0], [NAN, 20.0]])
    assert below(percent, [20.0, 20.0]).tolist() == [True, False, True]
    assert above(percent, [20.0, 20.0]).tolist() == [False, True, False]
    assert above(percent, [NAN, 10.0]).tolist() == [True, False, True]


def test_deviations_are_added_where_there_are_any() -> None:
    found = shifted(np.array([50.0, 50.0, NAN]), [10.0, NAN, 1.0])
    assert found[:2].tolist() == [60.0, 50.0]
    assert np.isnan(found[2])
    assert clamped(np.array([-5.0, 105.0])).tolist() == [0.0, 100.0]


def test_nodes_in_order_of_raw_usage() -> None:
    used = [
        [1730, 3_038_982_964],
        [1220, 3_038_982_964],
        [1530, 5_038_982_964],
        [1220, 3_038_982_964],
    ]
    assert by_usage(used, ascending=False).tolist() == [2, 0, 1, 3]
    assert by_usage(used, ascending=True).tolist() == [1, 3, 0, 2]


def test_targets_are_cut_to_whole_amounts() -> None:
    capacity = np.array([[999.0, 10.0, NAN]])
    percent = np.array([50.0, NAN, 50.0])
    assert target_amounts(capacity, percent).tolist() == [[499.0, 10.0, 0.0]]


@pytest.mark.parametrize(
    ("requests", "limits", "expected"),
    [
        ((0, 0), (0, 0), 0),
        ((0, 0), (5, 0), 1),
        ((5, 0), (0, 0), 1),
        ((5, 5), (5, 0), 1),
        ((5, 5), (5, 6), 1),
        ((5, 5), (5, 5), 2),
    ],
)
def test_quality_of_service(
    requests: tuple[int, int], limits: tuple[int, int], expected: int
) -> None:
    assert quality_of_service([requests], [limits]).tolist() == [expected]


def test_turns_by_priority_then_quality_then_size_then_position() -> None:
    found = turns(
        priority=[5.0, -np.inf, 0.0, 0.0, 0.0, 0.0],
        quality=[0, 2, 1, 0, 1, 1],
        size=[1, 9, 7, 8, 3, 7],
    )
    assert found.tolist() == [5, 0, 3, 1, 2, 4]
