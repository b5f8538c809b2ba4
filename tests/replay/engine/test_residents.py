"""Who runs on each node is what a count from scratch finds, whatever came and left before."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as some

from tracekit.replay.engine.samples import Residents

NODES, CONTAINERS = 4, 12


@given(
    some.lists(some.tuples(some.integers(0, CONTAINERS - 1), some.integers(0, NODES - 1))),
    some.sets(some.integers(0, NODES - 1)),
    some.integers(0, 5),
)
def test_residents_are_those_of_a_count(
    moves: list[tuple[int, int]], asked: set[int], known_from: int
) -> None:
    """A container that runs leaves when it is named, one that does not comes to the node."""
    running, node = np.zeros(CONTAINERS, np.bool_), np.full(CONTAINERS, -1)
    residents = Residents(running, node, NODES)
    for at, (index, where) in enumerate(moves):
        if at == known_from:
            residents = Residents(running, node, NODES)
        if running[index]:
            residents.remove(index, int(node[index]))
        else:
            node[index] = where
            residents.add(index, where)
        running[index] = not running[index]
    found = residents.on(np.array(sorted(asked), dtype=np.int64))
    assert found.tolist() == np.flatnonzero(running & np.isin(node, sorted(asked))).tolist()
