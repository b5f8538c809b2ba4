"""The first of the best nodes, by a tree of maxima and by a walk over a window."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as some

from tracekit.replay.fast.placement_loop import _choose_cut, first_maximum
from tracekit.replay.fast.scanning import first_of_highest
from tracekit.replay.fast.search import split_value


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
