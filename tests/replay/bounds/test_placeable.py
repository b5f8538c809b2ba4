"""Who can never be placed is in no bound: every policy comes at least to what it says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import Row, changed, workload

from tracekit.cluster.gangs import in_order_of
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.bounds.demand import demand_bound
from tracekit.replay.bounds.requests import never_placed, placeable
from tracekit.replay.runs.run import BOUND, replay

OTHERS: list[Row] = [(0, 9000, 300, 10)] * 3


def _gang(members: Sequence[Row], *, minimum: int | None = None, nodes: int = 3) -> Workload:
    load = workload([(1000, 100)] * nodes, [*OTHERS, *members], used_share=1.0)
    gang = np.array([-1] * len(OTHERS) + [0] * len(members))
    least = None if minimum is None else np.where(gang >= 0, minimum, 0)
    return changed(load, rules={"gang": gang, "gang_minimum": least})


def test_a_gang_that_cannot_fit_is_in_no_bound() -> None:
    """Six of 600 on three nodes: the bound was three nodes and 150 % of the CPU."""
    load = _gang([(0, 9000, 600, 10)] * 6)
    assert never_placed(load).tolist() == [False] * 3 + [True] * 6
    run = replay(load, [parse_policy("first_fit"), parse_policy("best_fit")], seed=0)
    rows = {row["policy"]: row for row in run.summary.to_dicts()}
    bound = rows.pop(BOUND)
    assert bound["nodes_used_mean"] == 1
    for row in rows.values():
        for measure in ("nodes_used_mean", "cpu_max_fraction", "memory_max_fraction"):
            assert bound[measure] <= row[measure]
    assert demand_bound(placeable(load)) == 1


@pytest.mark.parametrize(
    ("load", "never"),
    [
        (_gang([(0, 9000, 600, 10)] * 3), 0),  # one on each node
        (_gang([(0, 9000, 600, 10)] * 6, minimum=3), 0),
        (_gang([(0, 9000, 600, 10)] * 6, minimum=4), 6),
        # once three have left, the others are all of it, and too few for a stated minimum
        (_gang([(0, 5000, 600, 10)] * 3 + [(0, 9000, 600, 10)] * 3), 0),
        (_gang([(0, 5000, 600, 10)] * 3 + [(0, 9000, 600, 10)] * 3, minimum=6), 6),
        (_gang([(0, 5000, 600, 10)] * 3 + [(0, 9000, 600, 10)] * 3, minimum=3), 0),
        # as one departs the next arrives: two are never there together
        (_gang([(0, 5000, 100, 10), (5000, 9000, 100, 10)], minimum=2), 2),
        (_gang([(0, 5001, 100, 10), (5000, 9000, 100, 10)], minimum=2), 0),
        (_gang([(0, 5000, 100, 10), (5000, 9000, 100, 10)], minimum=1), 0),
        # one is larger than a node: nobody starts
        (_gang([(0, 9000, 100, 10)] * 2 + [(0, 9000, 1100, 10)]), 3),
        (workload([(1000, 100)], [(0, 9000, 1100, 10), (0, 9000, 100, 10)]), 1),
    ],
)
def test_who_can_never_be_placed(load: Workload, never: int) -> None:
    assert never_placed(load).sum() == never


shapes = some.lists(
    some.tuples(some.integers(100, 1200), some.sampled_from([5000, 9000])), min_size=1, max_size=6
)


@pytest.mark.slow
@settings(max_examples=40)
@given(shapes, some.one_of(some.none(), some.integers(1, 6)), some.integers(1, 3))
def test_who_is_said_to_fit_nowhere_is_placed_by_no_policy(
    members: list[tuple[int, int]], minimum: int | None, nodes: int
) -> None:
    rows: list[Row] = [(0, leaves, cpu, 1) for cpu, leaves in members]
    least = None if minimum is None else min(minimum, len(rows))
    load = _gang(rows, minimum=least, nodes=nodes)
    # all room is the gang's
    load = in_order_of(
        load, np.arange(len(OTHERS), load.containers.count), load.containers.arrival_ms
    )
    never = never_placed(load)
    run = replay(load, [parse_policy("best_fit")], seed=0)
    placed = run.placements["node"].is_not_null().to_numpy()
    assert not (never & placed).any()
