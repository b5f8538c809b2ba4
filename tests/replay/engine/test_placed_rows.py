"""What policies are shown of running containers is as if copied each time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as some
from replay_support import workload

from tracekit.replay.engine.samples import PlacedRows

LOAD = workload([(10, 10)], [(0, 9000, at, 2 * at, 0) for at in range(20)])


@given(some.lists(some.sets(some.integers(0, 19)), max_size=12), some.booleans())
def test_rows_are_those_of_the_containers_and_stay_so(looks: list[set[int]], growing: bool) -> None:
    rows, shown, running = PlacedRows(LOAD), [], set[int]()
    for look in looks:
        running = running | look if growing else look
        at = np.array(sorted(running), dtype=np.int64)
        shown.append((at, *rows.show(at)))
    for at, request, limit, service in shown:
        assert np.array_equal(request, LOAD.request[at])
        assert np.array_equal(limit, LOAD.limit[at])
        assert service[:] == tuple(LOAD.services[index] for index in at)
        assert not request.flags.writeable
