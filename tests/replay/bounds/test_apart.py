"""The bound by rules on who shares a node, against every placement of a few containers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from constraint_support import among, drawn
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import changed, workload

from tracekit.cluster.constraints.constraint import Constraint
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.rules import apart
from tracekit.cluster.workload import Workload
from tracekit.replay.bounds.measures import bounds_of
from tracekit.replay.bounds.requests import apart_bounds


def _ruled(load: Workload, part: Constraint) -> Workload:
    return changed(load, rules={"constraints": Constraints(parts=(part,))})


def _four(most: int, domain: list[int]) -> Workload:
    """Four small containers of one group on four nodes; the last two come at the second step."""
    arrives = (0, 0, 1000, 1000)
    load = workload([(10, 10)] * 4, [(at, 10**9, 1, 1) for at in arrives], steps=2)
    group = np.zeros(4, np.int64)
    rule = apart(by="node", group=group, domain=np.array(domain), most=np.array([most]))
    return _ruled(load, rule)


@pytest.mark.parametrize(
    ("most", "domain", "needed"),
    [
        (1, [0, 1, 2, 3], [2, 4]),
        (2, [0, 1, 2, 3], [1, 2]),
        (3, [0, 1, 2, 3], [1, 2]),
        (1, [0, 0, 1, 1], [2, 4]),
        (1, [0, 1, 2, -1], [0, 0]),
    ],
)
def test_a_group_needs_its_nodes(most: int, domain: list[int], needed: list[int]) -> None:
    load = _four(most, domain)
    assert list(load.use.times_ms) == [0, 1000]
    assert apart_bounds(load).tolist() == needed
    told = [row["nodes_used"] for row in bounds_of(load).rows]
    assert told == [max(one, 1) for one in needed]


@settings(max_examples=40, deadline=None)
@given(some.integers(0, 2**32), some.integers(1, 4), some.integers(1, 4))
def test_no_placement_that_keeps_the_rules_is_on_fewer(seed: int, nodes: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    load = workload([(10, 10)] * nodes, [(0, 9000, 0, 0)] * rows, steps=1)
    for part in (*drawn(load, rng), *among(load, rng)):
        bound = int(apart_bounds(_ruled(load, part))[0])
        for placed in itertools.product(range(nodes), repeat=rows):
            if _kept(part, placed, nodes):
                assert len(set(placed)) >= bound, part.name


def _kept(part: Constraint, placed: tuple[int, ...], nodes: int) -> bool:
    """Whether each found its node open when it came."""
    keeper = part.keeper(nodes)
    for index, node in enumerate(placed):
        if not keeper.open(index)[node]:
            return False
        keeper.add(index, node)
    return True
