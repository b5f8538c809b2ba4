"""Bounds by volume and by a linear program, on workloads small enough to try every placement."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import Row, changed, widened, workload

from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import parse_entrant
from tracekit.replay import bounds as node_bound_module
from tracekit.replay.bounds import linear_bound, volume_bound
from tracekit.replay.bounds.measures import bounds_of, gaps
from tracekit.replay.bounds.requests import pool_bounds, pool_costs
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
    wanted = draw(some.lists(sizes, min_size=1, max_size=4))
    used = draw(some.lists(some.integers(0, 80), min_size=2 * len(nodes), max_size=2 * len(nodes)))
    background = np.array(used, dtype=np.float32).reshape(2, 1, len(nodes))
    rows = [(0, 9000, cpu, memory) for cpu, memory in wanted]
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
    recorded = draw(some.booleans())
    return changed(
        load,
        nodes={
            "price_per_hour": rng.choice([1.0, 2.5, 4.0 if recorded else np.nan], load.nodes.count)
        },
        use={"further_resources": (2,) if recorded else (), "further": used if recorded else None},
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


def fewest(arguments: list[tuple[int, int]], nodes: list[tuple[int, int]]) -> int:
    """The fewest nodes, by trying every placement."""
    results = []
    for chosen in itertools.product(range(len(nodes)), repeat=len(arguments)):
        requested = np.zeros((len(nodes), 2), dtype=np.int64)
        np.add.at(requested, np.array(chosen), np.array(arguments))
        if (requested <= np.array(nodes)).all():
            results.append(len(set(chosen)))
    return min(results)


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


@pytest.mark.parametrize(("requested", "nodes", "volume", "best"), CASES)
def test_node_bounds_by_hand(
    requested: list[tuple[int, int]], nodes: list[tuple[int, int]], volume: int, best: int
) -> None:
    request, capacity = np.array(requested), np.array(nodes)
    linear = linear_bound(request, capacity)
    assert volume_bound(request, capacity) == volume
    assert linear is not None
    assert max(volume, linear) <= best == fewest(requested, nodes)


@settings(max_examples=60)
@given(
    some.lists(some.tuples(some.integers(0, 60), some.integers(0, 60)), min_size=1, max_size=12),
    some.lists(some.tuples(some.integers(1, 99), some.integers(1, 99)), min_size=1, max_size=6),
)
def test_without_a_row_for_each_pair_the_bound_is_weaker_and_not_below_room(
    requested: list[tuple[int, int]], nodes: list[tuple[int, int]]
) -> None:
    """Every solution with the rows is one without them; a node's room stays a limit."""
    request, capacity = np.array(requested), np.array(nodes)
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


def _only_on(load: Workload, masks: np.ndarray) -> Workload:
    """Each container on the nodes of its row alone."""
    parts = (Allowed(label="selector", of=np.arange(load.containers.count), mask=masks),)
    return changed(load, rules={"constraints": Constraints(parts=parts)})


@some.composite
def pooled(draw: some.DrawFn) -> tuple[Workload, np.ndarray]:
    """Up to four nodes and four containers, each of which has some nodes open."""
    rng = np.random.default_rng(draw(some.integers(0, 2**32)))
    nodes, rows = draw(some.integers(1, 4)), draw(some.integers(1, 4))
    sizes = [tuple(rng.integers(20, 100, 2).tolist()) for _ in range(nodes)]
    wanted = [(0, 9000, *rng.integers(0, 60, 2).tolist()) for _ in range(rows)]
    load = workload(sizes, wanted, steps=1)
    masks = rng.random((rows, nodes)) < rng.choice([0.3, 0.6, 1.0])
    daemon = rng.random(rows) < 0.2
    put = np.where(daemon, rng.integers(0, nodes, rows), -1)
    return _only_on(
        changed(load, rules={"daemon": daemon, "pinned": put}),
        masks,
    ), masks


@settings(max_examples=80)
@given(pooled())
def test_no_placement_is_on_fewer_nodes_or_cheaper_ones(made: tuple[Workload, np.ndarray]) -> None:
    load, masks = made
    assert load.rules.daemon is not None
    assert load.rules.pinned is not None
    bound = int(pool_bounds(load, load.nodes.allocatable)[0])
    price = np.round(1.0 + load.nodes.capacity[:, 0] % 7, 1)
    least = bounds_of(changed(load, nodes={"price_per_hour": price})).rows[0]["cost_per_hour"]
    pools = pool_costs(load, load.nodes.allocatable, price)[0]
    for nodes in itertools.product(range(load.nodes.count), repeat=load.containers.count):
        at = np.where(load.rules.daemon, load.rules.pinned, np.array(nodes))
        requested = np.zeros_like(load.nodes.capacity)
        np.add.at(requested, at, load.containers.request)
        allowed = masks[np.arange(load.containers.count), at] | load.rules.daemon
        if allowed.all() and (requested <= load.nodes.capacity).all():
            used = np.unique(at[~load.rules.daemon])
            assert len(used) >= bound
            assert price[used].sum() >= max(pools, least) - 1e-6


def test_pools_add_up() -> None:
    """Three of 50 on nodes of their own need two, and three on others; volume says 3 of all.

    One that may be on any node is in no pool, and hides none.
    """
    load = workload([(100, 100)] * 9, [(0, 9000, 50, 1)] * 6 + [(0, 9000, 0, 1)])
    own = np.zeros((7, 9), dtype=np.bool_)
    own[:3, :4] = True
    own[3:6, 4:8] = True
    own[6] = True
    assert bounds_of(load).rows[0]["nodes_used"] == 3
    assert bounds_of(_only_on(load, own)).rows[0]["nodes_used"] == 4


def test_who_ran_where_rules_bar_it_now_is_in_no_pool() -> None:
    """Nodes were tainted while it ran there; it said that 7 nodes are needed where 3 carried it."""
    load = workload([(100, 100)] * 9, [(0, 9000, 50, 1)] * 6)
    own = np.zeros((6, 9), dtype=np.bool_)
    own[:3, :4] = True
    own[3:, 4:8] = True
    for ran, needed in ((0, 4), (8, 3)):
        present = changed(load, containers={"recorded_node": np.array([ran, 0, 0, 4, 4, 4])})
        assert bounds_of(_only_on(present, own)).rows[0]["nodes_used"] == needed


def test_costs_of_pools_add_up() -> None:
    """Two of four nodes at 3 for three of 50, and two of four at 5; the cheap one takes none."""
    load = workload([(100, 100)] * 9, [(0, 9000, 50, 1)] * 6)
    own = np.zeros((6, 9), dtype=np.bool_)
    own[:3, :4] = True
    own[3:, 4:8] = True
    prices = np.array([3.0] * 4 + [5.0] * 4 + [1.0])
    priced = changed(_only_on(load, own), nodes={"price_per_hour": prices})
    assert bounds_of(priced).rows[0]["cost_per_hour"] == pytest.approx(16.0)
    assert bounds_of(changed(load, nodes={"price_per_hour": prices})).rows[0][
        "cost_per_hour"
    ] == pytest.approx(7.0)
