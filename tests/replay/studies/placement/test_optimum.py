"""Bound <= optimum <= every policy, on cases small enough to be solved."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from optimum import fewest_nodes, lowest_imbalance, lowest_peak
from replay_support import workload

from tracekit.cluster.workload import Workload
from tracekit.replay.bounds import nodes as node_bound_module
from tracekit.replay.bounds.measures import bound_steps
from tracekit.replay.bounds.nodes import linear_bound, volume_bound
from tracekit.replay.runs.run import choose_policies, replay

sizes = some.tuples(some.integers(1, 60), some.integers(1, 60))


@some.composite
def workloads(draw: some.DrawFn) -> Workload:
    nodes = draw(some.lists(some.tuples(some.integers(30, 100), some.integers(30, 100)),
                            min_size=1, max_size=3))  # fmt: skip
    asked = draw(some.lists(sizes, min_size=1, max_size=5))
    used = draw(some.lists(some.integers(0, 50), min_size=2 * len(nodes), max_size=2 * len(nodes)))
    background = np.array(used, dtype=np.float32).reshape(2, 1, len(nodes))
    rows = [(0, 9000, cpu, memory) for cpu, memory in asked]
    return workload(nodes, rows, steps=1, used_share=0.5, background=background)


@settings(max_examples=25)
@given(workloads())
def test_no_bound_is_above_the_optimum(load: Workload) -> None:
    best = fewest_nodes(load, 0)
    if best is None:
        return
    bound = bound_steps(load)[0]
    assert bound["nodes_used"] <= best
    assert best == _tried(load)
    for resource, name in enumerate(("cpu", "memory")):
        peak = lowest_peak(load, 0, resource)
        assert peak is not None
        assert bound[f"{name}_max_fraction"] <= peak + 1e-9
    z = lowest_imbalance(load, 0)
    assert z is not None
    assert bound["imbalance"] <= z + 1e-9


@settings(max_examples=15)
@given(workloads())
def test_no_policy_is_below_the_optimum(load: Workload) -> None:
    best = fewest_nodes(load, 0)
    if best is None:
        return
    policies = choose_policies(["first_fit", "least_allocated", "balanced_allocation"], load)
    summary = replay(load, policies, seed=0).summary
    for row in summary.filter(summary["policy"] != "bound").to_dicts():
        if row["pending"]:
            continue
        assert row["nodes_used_max"] >= best
        assert row["nodes_used_max_gap"] >= 0
        assert row["cpu_max_fraction"] >= (lowest_peak(load, 0, 0) or 0.0) - 1e-6
        assert row["imbalance_mean"] >= (lowest_imbalance(load, 0) or 0.0) - 1e-6


def _tried(load: Workload) -> int:
    """The fewest nodes, by trying every placement."""
    found = []
    for nodes in itertools.product(range(load.nodes), repeat=load.containers):
        requested = np.zeros_like(load.capacity)
        np.add.at(requested, np.array(nodes), load.request)
        if (requested <= load.capacity).all():
            found.append(len(set(nodes)))
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
    assert max(volume, linear) <= best
    load = workload(nodes, [(0, 9000, *one) for one in asked], steps=1)
    assert fewest_nodes(load, 0) == best


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
    load = workload([(100, 100)], [(0, 9000, 90, 1), (0, 9000, 90, 1)], steps=1)
    assert fewest_nodes(load, 0) is None
    assert lowest_peak(load, 0, 0) is None
