"""Which replays are compiled, and the compiled choice of a node and of an order statistic."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from hypothesis.extra.numpy import arrays

from tracekit.replay.engine.placer import MakePlacer
from tracekit.replay.fast.choose import (
    fast_placer,
    rows_placer,
    scanning_placer,
    suited_placer,
)
from tracekit.replay.fast.placement_loop import _choose_cut, first_maximum
from tracekit.replay.fast.sampling import PARTS, order_statistic
from tracekit.replay.fast.scanning import first_of_highest
from tracekit.replay.fast.search import split_value


@pytest.mark.parametrize(
    ("containers", "nodes", "replays", "placer"),
    [
        pytest.param(964, 130, 6, rows_placer, id="the demo"),
        pytest.param(5_000, 500, 1, rows_placer, id="a cluster of one's own, once"),
        pytest.param(5_000, 500, 6, scanning_placer, id="a cluster of one's own"),
        pytest.param(8_152, 1_213, 6, scanning_placer, id="openb"),
        # compiling took 45 s where the replay takes 5
        pytest.param(18_239, 1, 1, rows_placer, id="a machine of batch jobs"),
        pytest.param(40_000, 2_000, 1, scanning_placer, id="what the documents name"),
        pytest.param(96_400, 13_000, 1, fast_placer, id="ctm21"),
    ],
)
def test_replays_are_compiled_where_that_pays(
    containers: int, nodes: int, replays: int, placer: MakePlacer
) -> None:
    load = mock.Mock(containers=mock.Mock(count=containers), nodes=mock.Mock(count=nodes))
    assert suited_placer(load, replays) is placer


@given(some.integers(0, 4), some.data())
def test_the_tree_finds_the_first_of_the_highest(height: int, data: some.DataObject) -> None:
    width = 2**height
    score = some.sampled_from([-np.inf, 0.0, 1.0, 2.5])
    leaves = np.array(data.draw(some.lists(score, min_size=width, max_size=width)))
    tree = np.concatenate([np.full(width, -np.inf), leaves])
    for vertex in range(width - 1, 0, -1):
        tree[vertex] = max(tree[2 * vertex], tree[2 * vertex + 1])
    expected = int(np.argmax(leaves)) if leaves.max() > -np.inf else -1
    assert first_maximum(tree) == expected


def test_floats_that_round_to_the_highest_tie_with_it() -> None:
    scores = np.array([0.4, 0.5 - 1e-14, 0.5])
    assert first_of_highest(scores, 3, True) == 1
    assert first_of_highest(scores, 3, False) == 2


@given(some.lists(some.integers(0, 9), min_size=2).filter(lambda values: len(set(values)) > 1))
def test_a_cut_leaves_nodes_on_both_sides(values: list[int]) -> None:
    ordered = np.sort(np.array(values, dtype=np.float64))
    threshold = split_value(ordered)
    assert threshold in ordered
    assert 0 < (ordered < threshold).sum() < len(ordered)


def test_where_leaves_run_short_the_cut_is_in_halves_by_position() -> None:
    keys = np.column_stack([np.arange(9.0) ** 2, np.arange(9.0)])
    nodes = np.arange(9)
    assert _choose_cut(keys, nodes, True) == (1, 4.0)
    assert _choose_cut(keys, nodes, False) == (0, 16.0)


NO_NUMBERS = some.sampled_from([np.nan, np.inf, -np.inf])
VALUES = (
    some.floats(-1e300, 1e300)
    | some.floats(0, 2)
    | some.sampled_from([0.0, 0.5, 5e-324])
    | NO_NUMBERS
)


@given(arrays(np.float64, some.integers(1, 60), elements=VALUES), some.data())
def test_it_is_what_sorting_gives(values: np.ndarray, data: some.DataObject) -> None:
    values += 0.0  # no -0.0: sorting does not tell it from 0.0, and the test would
    rank = data.draw(some.integers(0, len(values) - 1))
    low, high = np.inf, -np.inf
    for value in values:  # as a sampler finds them: nodes without capacity are no numbers
        low, high = min(low, value), max(high, value)
    np.testing.assert_equal(order_statistic(values, rank, low, high), np.sort(values)[rank])


def test_values_of_one_part_are_told_apart() -> None:
    values = np.concatenate([[0.0, 1.0], 0.5 + np.arange(3 * PARTS) / 1e9])
    for rank in (0, 1, 700, len(values) - 1):
        assert order_statistic(values, rank, 0.0, 1.0) == np.sort(values)[rank]
