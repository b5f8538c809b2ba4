"""Nodes that requests need, by volume and by linear programming, beside every placement."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tracekit.replay import bounds as node_bound_module
from tracekit.replay.bounds import linear_bound, volume_bound


def fewest(asked: list[tuple[int, int]], nodes: list[tuple[int, int]]) -> int:
    """The fewest nodes, by trying every placement."""
    found = []
    for chosen in itertools.product(range(len(nodes)), repeat=len(asked)):
        requested = np.zeros((len(nodes), 2), dtype=np.int64)
        np.add.at(requested, np.array(chosen), np.array(asked))
        if (requested <= np.array(nodes)).all():
            found.append(len(set(chosen)))
    return min(found)


CASES = [
    # three halves of a node: 1.5 nodes of volume, but no two of them share one
    ([(60, 10)] * 3, [(100, 100)] * 4, 2, 3),
    # two resources, each asked for by others: the volume of both fits one node
    ([(100, 0), (0, 100)], [(100, 100)] * 2, 1, 1),
    # the volume bound takes the largest nodes, of which there is one
    ([(50, 50)] * 4, [(100, 100), (50, 50), (50, 50)], 3, 3),
    # a small node cannot take a large container, however many there are
    ([(80, 1)] * 2, [(100, 100)] * 2 + [(10, 10)] * 9, 2, 2),
    # nobody asks for anything
    ([(0, 0)] * 3, [(100, 100)] * 2, 0, 1),
]


@pytest.mark.parametrize(("asked", "nodes", "volume", "best"), CASES)
def test_node_bounds_by_hand(
    asked: list[tuple[int, int]], nodes: list[tuple[int, int]], volume: int, best: int
) -> None:
    request, capacity = np.array(asked), np.array(nodes)
    linear = linear_bound(request, capacity)
    assert volume_bound(request, capacity) == volume
    assert linear is not None
    assert max(volume, linear) <= best == fewest(asked, nodes)


@settings(max_examples=60)
@given(
    some.lists(some.tuples(some.integers(0, 60), some.integers(0, 60)), min_size=1, max_size=12),
    some.lists(some.tuples(some.integers(1, 99), some.integers(1, 99)), min_size=1, max_size=6),
)
def test_without_a_row_for_each_pair_the_bound_is_weaker_and_not_below_room(
    asked: list[tuple[int, int]], nodes: list[tuple[int, int]]
) -> None:
    """Every solution with the rows is one without them; a node's room stays a limit."""
    request, capacity = np.array(asked), np.array(nodes)
    whole = linear_bound(request, capacity)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_bound_module, "LARGEST_WHOLE", 0)
        without = linear_bound(request, capacity)
    assert whole is not None
    assert without is not None
    assert volume_bound(request, capacity) <= without <= whole


def test_the_program_loses_its_rows_where_pairs_are_many_and_ends_where_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request, capacity = np.array([(60, 1)] * 3), np.array([(100, 100)] * 9)
    monkeypatch.setattr(node_bound_module, "LARGEST_WHOLE", 0)
    assert linear_bound(request, capacity) == 2
    monkeypatch.setattr(node_bound_module, "LARGEST_PROGRAM", 0)
    assert linear_bound(request, capacity) is None


def test_without_a_solution_every_node_is_needed() -> None:
    assert linear_bound(np.array([(101, 1)]), np.array([(100, 100)] * 4)) == 4
