"""Who runs on each node is what a count from scratch finds, whatever came and left before."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as some
from replay_support import workload

from tracekit.replay.engine.samples import PlacedRows, Residents

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


# What policies are shown of running containers is as if copied each time.


LOAD = workload([(10, 10)], [(0, 9000, at, 2 * at, 0) for at in range(20)])


@given(some.lists(some.sets(some.integers(0, 19)), max_size=12), some.booleans())
def test_rows_are_those_of_the_containers_and_stay_so(looks: list[set[int]], growing: bool) -> None:
    rows, shown, running = PlacedRows(LOAD), [], set[int]()
    for look in looks:
        running = running | look if growing else look
        at = np.array(sorted(running), dtype=np.int64)
        shown.append((at, *rows.show(at)))
    for at, request, limit, service in shown:
        assert np.array_equal(request, LOAD.containers.request[at])
        assert np.array_equal(limit, LOAD.containers.limit[at])
        assert service[:] == tuple(LOAD.containers.services[index] for index in at)
        assert not request.flags.writeable
