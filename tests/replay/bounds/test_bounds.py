"""Bounds against every placement there is, on workloads small enough to try them all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import Row, changed, widened, workload

from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import parse_entrant
from tracekit.replay.bounds.measures import bounds_of, gaps
from tracekit.replay.engine.sampling import PlainSampler
from tracekit.replay.engine.steps import measure_steps
from tracekit.replay.measures.sampled import Sampled, Stretch
from tracekit.replay.runs.run import replay

BOUNDED = (
    "imbalance", "cpu_spread_fraction", "memory_spread_fraction", "cpu_max_fraction",
    "memory_max_fraction", "cpu_p99_fraction", "memory_p99_fraction",
    "utilization_difference_fraction", "cpu_overload_fraction", "memory_overload_fraction",
    "overloaded_nodes", "cpu_overload_nodes", "memory_overload_nodes",
)  # fmt: skip

sizes = some.tuples(some.integers(1, 100), some.integers(1, 100))


@some.composite
def workloads(draw: some.DrawFn) -> Workload:
    nodes = draw(some.lists(sizes, min_size=1, max_size=3))
    asked = draw(some.lists(sizes, min_size=1, max_size=4))
    used = draw(some.lists(some.integers(0, 80), min_size=2 * len(nodes), max_size=2 * len(nodes)))
    background = np.array(used, dtype=np.float32).reshape(2, 1, len(nodes))
    rows = [(0, 9000, cpu, memory) for cpu, memory in asked]
    return workload(nodes, rows, steps=1, used_share=1.0, background=background)


@pytest.mark.slow
@settings(max_examples=60)
@given(workloads())
def test_no_placement_is_below_a_bound(load: Workload) -> None:
    bound = bounds_of(load).rows[0]
    for nodes in itertools.product(range(load.nodes.count), repeat=load.containers.count):
        row = measured(load, np.array(nodes))
        for name in BOUNDED:
            assert row[name] >= bound[name], name
        requested = np.zeros_like(load.nodes.capacity)
        np.add.at(requested, np.array(nodes), load.containers.request)
        if (requested <= load.nodes.capacity).all():
            assert row["nodes_used"] >= bound["nodes_used"]


def measured(load: Workload, nodes: np.ndarray) -> dict[str, float]:
    used = load.use.background[:, 0].T.astype(np.float64)
    np.add.at(used, nodes, load.use.values[:, 0].T)
    sampled = Sampled(
        load=load,
        stretches=[Stretch(1, np.arange(load.containers.count), nodes, 0)],
        fractions=(used / load.nodes.capacity)[None],
        add_up=lambda: used[None],
    )
    return {name: column[0].item() for name, column in measure_steps(sampled).items()}


@some.composite
def priced(draw: some.DrawFn) -> Workload:
    """With a third resource that some nodes have not, and prices of all nodes, or of some."""
    load = draw(workloads())
    rng = np.random.default_rng(draw(some.integers(0, 2**32)))
    room = rng.choice([0, 2, 4], (load.nodes.count, 1))
    load = widened(load, room, rng.integers(0, 3, (load.containers.count, 1)), "gpu")
    used = rng.choice([0, 0.5, 3, np.nan], (1, 1, load.containers.count)).astype(np.float32)
    known = draw(some.booleans())
    return changed(
        load,
        nodes={
            "price_per_hour": rng.choice([1.0, 2.5, 4.0 if known else np.nan], load.nodes.count)
        },
        use={"further_resources": (2,) if known else (), "further": used if known else None},
    )


@settings(max_examples=40)
@given(priced())
def test_no_placement_that_respects_requests_is_below_a_bound(load: Workload) -> None:
    bound = bounds_of(load).rows[0]
    further = [name for name in bound if name.startswith("gpu_") or name == "cost_per_hour"]
    assert ("cost_per_hour" in bound) == (load.nodes.prices is not None)
    for nodes in itertools.product(range(load.nodes.count), repeat=load.containers.count):
        requested = np.zeros_like(load.nodes.capacity)
        np.add.at(requested, np.array(nodes), load.containers.request)
        if not (requested <= load.nodes.capacity).all():
            continue
        row = of_workload(load, np.array(nodes))
        for name in further:
            assert row[name] >= bound[name] - 1e-9, name


def of_workload(load: Workload, nodes: np.ndarray) -> dict[str, float]:
    sampler = PlainSampler(load)
    list(sampler.sample(np.ones(load.containers.count, dtype=np.bool_), nodes, range(1)))
    return {name: column[0].item() for name, column in sampler.measures().items()}


def test_what_alone_overloads_a_node_is_in_the_bound() -> None:
    background = np.array([[[120, 40]], [[0, 130]]], dtype=np.float32)
    load = workload([(100, 100)] * 2, [(0, 9000, 1, 1)], steps=1, background=background)
    bound = bounds_of(load).rows[0]
    assert (bound["overloaded_nodes"], bound["cpu_overload_nodes"]) == (2, 1)
    assert bound["cpu_overload_fraction"] == pytest.approx(20 / 200)


def test_where_all_is_too_much_some_node_is_overloaded() -> None:
    """Both are at 110 % where use is spread evenly: whoever places, one is above at least."""
    rows: list[Row] = [(0, 9000, 1, 1)] * 2
    load = workload([(100, 100)] * 2, rows, steps=1)
    load.use.values[0] = 110
    bound = bounds_of(load).rows[0]
    assert bound["cpu_max_fraction"] > 1
    assert (bound["overloaded_nodes"], bound["cpu_overload_nodes"]) == (1, 1)
    assert bound["memory_overload_nodes"] == 0


def test_the_cheapest_room_bounds_the_cost() -> None:
    load = changed(
        workload([(100, 100)] * 3, [(0, 9000, 90, 10), (0, 9000, 60, 10)], steps=1),
        nodes={"price_per_hour": np.array([3.0, 1.0, 2.0])},
    )
    # 150 of cpu: two nodes, for 1 and 2; of parts of nodes half of the second would do
    assert bounds_of(load).rows[0]["cost_per_hour"] == pytest.approx(3.0)
    small = changed(load, nodes={"price_per_hour": np.array([3.0, 1.0, 2.0]) * [1, 1, 9]})
    assert bounds_of(small).rows[0]["cost_per_hour"] == pytest.approx(4.0)
    shapes = workload([(150, 100), (100, 100)], [(0, 9000, 90, 10), (0, 9000, 60, 10)], steps=1)
    one = changed(shapes, nodes={"price_per_hour": np.array([9.0, 5.0])})
    # one node has the room; by parts it is cheaper: all of the one for 5, a third of the other
    assert bounds_of(one).rows[0]["cost_per_hour"] == pytest.approx(8.0)


def test_bounds_by_hand() -> None:
    """Two nodes of 100: 30 + 50 of cpu, 10 + 10 of memory, background 40 of cpu on n0."""
    background = np.zeros((2, 1, 2), dtype=np.float32)
    background[0, 0, 0] = 40
    load = workload(
        [(100, 100), (100, 100)], [(0, 9000, 30, 10), (0, 9000, 50, 10)],
        steps=1, used_share=1.0, background=background,
    )  # fmt: skip
    bound = bounds_of(load).rows[0]
    assert bound["cpu_max_fraction"] == pytest.approx(0.6)  # (80 + 40) / 200
    assert bound["memory_max_fraction"] == pytest.approx(0.1)
    assert bound["utilization_difference_fraction"] == pytest.approx(0.5)
    assert bound["imbalance"] == pytest.approx(0.5 / np.sqrt(2))
    assert bound["nodes_used"] == 1


def test_the_largest_container_has_to_go_somewhere() -> None:
    load = workload([(100, 100)] * 4, [(0, 9000, 90, 1)], steps=1, used_share=1.0)
    assert bounds_of(load).rows[0]["cpu_max_fraction"] == pytest.approx(0.9)


def test_no_gap_for_a_policy_that_left_containers_waiting() -> None:
    bound = dict.fromkeys((
        "imbalance_mean", "cpu_max_fraction", "memory_max_fraction", "cpu_spread_mean_fraction",
        "memory_spread_mean_fraction",
        "utilization_difference_mean_fraction", "nodes_used_max",
    ), 0.25)  # fmt: skip
    row = dict.fromkeys(bound, 0.5)
    assert set(gaps({**row, "pending_container_steps": 0}, bound).values()) == {0.25}
    assert set(gaps({**row, "pending_container_steps": 3}, bound).values()) == {None}


def test_what_is_not_bounded_is_missing_and_nothing_has_to_move() -> None:
    load = workload([(100, 100)] * 2, [(0, 9000, 10, 10)])
    run = replay(load, [parse_entrant("first_fit")], seed=0)
    bound = run.summary.filter(policy="bound").row(0, named=True)
    assert (bound["above_ceiling_node_steps"], bound["overloaded_node_steps"]) == (None, 0)
    assert (bound["moves"], bound["pending"]) == (0, 0)
