"""Nodes that demand needs, against every placement of small cases."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import changed, workload

from tracekit.answer.fewest.bound import least_nodes
from tracekit.answer.fewest.limits import Limits
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.on_nodes import on_nodes
from tracekit.cluster.parts import NodeEvents
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.bounds.demand import bound_after_losses, cost_bound, demand_bound, load_bound
from tracekit.replay.runs.thresholds import at_most

sizes = some.tuples(some.integers(1, 60), some.integers(1, 60))


def curves(load: Workload, cpu: list[list[float]]) -> Workload:
    """The workload with these curves of cpu, one per container."""
    usage = load.use.values.copy()
    usage[0] = np.array(cpu, dtype=np.float32).T
    return changed(load, use={"values": usage})


def fewest(load: Workload) -> int | None:
    """The fewest nodes on which use never exceeds capacity, by trying every placement."""
    results = []
    for nodes in itertools.product(range(load.nodes.count), repeat=load.containers.count):
        over = False
        for step in range(len(load.use.times_ms)):
            used = load.use.background[:, step].T.astype(np.float64)
            np.add.at(used, np.array(nodes), load.use.values[:, step].T)
            over |= bool((used > load.nodes.capacity).any())
        if not over:
            results.append(len(set(nodes)))
    return min(results, default=None)


@settings(max_examples=40)
@given(
    some.lists(sizes, min_size=1, max_size=3),
    some.lists(some.lists(some.floats(0, 50, width=16), min_size=2, max_size=2),
               min_size=1, max_size=4),
    some.floats(0, 20, width=16),
)  # fmt: skip
def test_no_placement_needs_fewer(
    nodes: list[tuple[int, int]], cpu: list[list[float]], own: float
) -> None:
    background = np.full((2, 2, len(nodes)), own, dtype=np.float32)
    load = workload(nodes, [(0, 9000, 1, 1)] * len(cpu), steps=2, background=background)
    load = curves(load, cpu)
    best = fewest(load)
    if best is not None:
        assert demand_bound(load) <= best


def test_peaks_at_different_times_share_a_node() -> None:
    """Requests of 80 need two nodes; the curves never meet, so demand needs one."""
    load = workload([(100, 100)] * 2, [(0, 9000, 80, 1)] * 2, steps=2)
    assert demand_bound(curves(load, [[80, 10], [10, 80]])) == 1
    assert demand_bound(curves(load, [[80, 10], [80, 10]])) == 2


def test_background_takes_room() -> None:
    background = np.full((2, 1, 3), 50, dtype=np.float32)
    load = workload([(100, 100)] * 3, [(0, 9000, 60, 1)] * 2, steps=1, used_share=1.0,
                    background=background)  # fmt: skip
    assert demand_bound(load) == 3


@pytest.mark.parametrize("settled", [0, 1000, 9999])
def test_only_settled_steps_count(settled: int) -> None:
    load = workload([(100, 100)] * 2, [(0, 9000, 80, 1)] * 2, steps=2)
    load = changed(curves(load, [[80, 10], [80, 10]]), use={"settled_ms": settled})
    assert demand_bound(load) == (1 if settled == 1000 else 2)


def enough(load: Workload) -> int | None:
    """The fewest nodes that carry all load within capacity, by trying every choice of them."""
    for count in range(1, load.nodes.count + 1):
        for staying in itertools.combinations(range(load.nodes.count), count):
            some = on_nodes(load, np.array(staying))
            if any(_carried(some, nodes) for nodes in _placements(some)):
                return count
    return None


def _placements(load: Workload) -> Iterator[tuple[int, ...]]:
    return itertools.product(range(load.nodes.count), repeat=load.containers.count)


def _carried(load: Workload, nodes: tuple[int, ...]) -> bool:
    for step in range(len(load.use.times_ms)):
        used = load.use.background[:, step].T.astype(np.float64)
        np.add.at(used, np.array(nodes), load.use.values[:, step].T)
        if (used > load.nodes.capacity).any():
            return False
    wanted = np.zeros_like(load.nodes.capacity)
    np.add.at(wanted, np.array(nodes), load.containers.request)
    return bool((wanted <= load.nodes.allocatable).all())


@settings(max_examples=60, deadline=None)
@given(
    some.lists(sizes, min_size=1, max_size=3),
    some.lists(some.lists(some.floats(0, 50, width=16), min_size=2, max_size=2),
               min_size=1, max_size=3),
    some.integers(0, 2**32 - 1),
)  # fmt: skip
def test_no_choice_of_nodes_that_carries_all_load_is_smaller(
    nodes: list[tuple[int, int]], cpu: list[list[float]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    background = rng.uniform(0, 30, (2, 2, len(nodes))).astype(np.float32)
    load = workload(nodes, [(0, 9000, 5, 1)] * len(cpu), steps=2, background=background)
    staying = np.minimum(rng.integers(0, 20, (len(nodes), 2)), load.nodes.capacity)
    load = changed(curves(load, cpu), nodes={"reserved": staying})
    best = enough(load)
    if best is not None:
        assert load_bound(load, (1.0, 1.0), requests=True) <= best


def test_the_background_of_nodes_that_go_is_carried_by_the_others() -> None:
    background = np.full((2, 1, 4), 50, dtype=np.float32)
    load = workload([(100, 100)] * 4, [(0, 9000, 10, 10)], steps=1, background=background)
    assert demand_bound(load) == 1
    assert load_bound(load, (1.0, 1.0), requests=False) == 3
    assert load_bound(load, (float("inf"), float("inf")), requests=False) == 0
    staying = changed(load, nodes={"reserved": np.full((4, 2), 60)})
    assert load_bound(staying, (float("inf"), float("inf")), requests=True) == 3


def test_what_is_there_after_a_loss_is_on_the_nodes_that_are_left() -> None:
    """Four nodes of 100 and eight containers of 25; two nodes are lost at the third step."""
    load = workload([(100, 1000)] * 4, [(0, 9000, 25, 10)] * 8, used_share=1.0)
    lost = NodeEvents(node=np.array([0, 1]), time_ms=np.array([2000, 2000]))
    assert bound_after_losses(load, (1.0, 1.0), requests=True) == 0
    after = changed(load, nodes={"losses": lost})
    assert bound_after_losses(after, (1.0, 1.0), requests=True) == 2
    assert bound_after_losses(after, (np.inf, np.inf), requests=False) == 0
    limits = Limits((at_most("cpu_max_fraction", 1),))
    assert least_nodes(after, parse_policy("best_fit"), limits) == 4


def test_what_no_limit_speaks_of_bounds_nothing() -> None:
    """Each container uses a whole node of CPU, and a twentieth of the memory of one."""
    load = workload([(100, 1000)] * 6, [(0, 9000, 100, 50)] * 6, used_share=1.0)
    assert demand_bound(load, (float("inf"), 0.8)) == 1
    assert demand_bound(load, (1.0, 0.8)) == 6


def test_nodes_cost_what_the_judged_time_needs() -> None:
    """Six are there while the cluster fills, and one afterwards, which is when nodes are judged."""
    rows = [(0, 1000, 100, 10)] * 5 + [(0, 9000, 100, 10)]
    load = workload([(100, 100)] * 6, rows, used_share=1.0)
    masks = np.ones((6, 6), dtype=np.bool_)
    masks[:, 5] = False
    part = Allowed(label="selector", of=np.arange(6), mask=masks)
    load = changed(
        load,
        use={"settled_ms": 2000},
        nodes={"price_per_hour": np.full(6, 4.0)},
        rules={"constraints": Constraints(parts=(part,))},
    )
    assert cost_bound(load, (1.0, 1.0), requests=True) == pytest.approx(4.0)
    assert cost_bound(
        changed(load, use={"settled_ms": 0}),
        (1.0, 1.0),
        requests=True,
    ) == (pytest.approx(24.0))
