"""Placements go by number between processes, and by name into a run folder."""

from __future__ import annotations

import numpy as np
from replay_support import workload

from tracekit.replay.runs.one import by_name, by_number

LOAD = workload([(10, 10)] * 2, [(0, 9000, 1, 1, 0)] * 3)


def test_every_policy_has_a_row_for_every_container() -> None:
    one = by_number(np.array([1, -1, 0]), np.array([5, -1, 7]))
    other = by_number(np.array([-1, -1, -1]), np.array([-1, -1, -1]))
    assert one.rows() == [(1, 5), (None, None), (0, 7)]
    named = by_name(LOAD, [("one", one), ("other", other)])
    assert named.columns == ["policy", "container", "service", "node", "time_ms", "outcome"]
    names, (first, second) = LOAD.containers.ids, LOAD.nodes.ids
    assert named.rows() == [
        ("one", names[0], LOAD.containers.services[0], second, 5, "placed"),
        ("one", names[1], LOAD.containers.services[1], None, None, "pending"),
        ("one", names[2], LOAD.containers.services[2], first, 7, "placed"),
        *[
            ("other", name, service, None, None, "pending")
            for name, service in zip(names, LOAD.containers.services, strict=True)
        ],
    ]
