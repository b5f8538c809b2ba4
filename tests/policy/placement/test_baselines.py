"""Bin packing by hand and by loops: best, worst and first fit, by cell, and lowest debris."""

from __future__ import annotations

import csv

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import Row, changed, container, snapshot, workload
from tests_support import shared_data

from tracekit.base.arrays import IntArray
from tracekit.cluster.constraints.cells import Cells
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import Batch, PlacementPolicy
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.snapshot import Container
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import MakePlacer, PlainPlacer, decide
from tracekit.replay.fast.choose import fast_placer, rows_placer

MIB = 2**20

amounts = some.tuples(some.integers(1, 50), some.integers(1, 50))


def placements(policy: PlacementPolicy, nodes: IntArray, pods: IntArray) -> list[int | None]:
    """The node of each pod, one after the other, none ever leaving."""
    resources = ("cpu_milli", "memory_bytes")
    cluster = Cluster(resources=resources, capacity=nodes, allocatable=nodes)
    rng, chosen = np.random.default_rng(0), []
    for request in pods:
        waiting = Container(
            id="c", service="s", request=request, nonzero_request=request, limit=request
        )
        node = decide(policy, cluster.snapshot(0), waiting, rng)
        if node is not None:
            cluster.change(node, request, request, request, sign=1)
        chosen.append(node)
    return chosen


def accasim_best_fit(nodes: IntArray, pods: IntArray) -> list[int | None]:
    """AccaSim's rule spelled out: nodes in order of free millicores plus free MiB, first fit."""
    free, chosen = [[cpu, memory // MIB] for cpu, memory in nodes.tolist()], []
    for cpu, memory in pods.tolist():
        need = (cpu, memory // MIB)
        order = sorted(range(len(free)), key=lambda at: sum(free[at]))
        fits = (at for at in order if free[at][0] >= need[0] and free[at][1] >= need[1])
        node = next(fits, None)
        chosen.append(node)
        if node is not None:
            free[node] = [free[node][0] - need[0], free[node][1] - need[1]]
    return chosen


@given(some.lists(amounts, min_size=1, max_size=6), some.lists(amounts, max_size=20))
def test_best_fit_places_as_accasim_does(
    nodes: list[tuple[int, int]], pods: list[tuple[int, int]]
) -> None:
    size = np.array([1, MIB])
    given_nodes = np.array(nodes, dtype=np.int64) * size
    given_pods = np.array(pods, dtype=np.int64).reshape(-1, 2) * size
    chosen = placements(parse_policy("best_fit"), given_nodes, given_pods)
    assert chosen == accasim_best_fit(given_nodes, given_pods)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        # left over after 100 m and 1 MiB: n0 900 + 99, n1 400 + 399, n2 200 + 699
        ("best_fit", 1),
        ("worst_fit", 0),
        # in fractions: n0 .9 + .99, n1 .8 + .9975, n2 .667 + .9986
        ("best_fit[leftover=fraction]", 2),
        ("worst_fit[leftover=fraction]", 0),
    ],
)
def test_leftover_by_hand(policy: str, expected: int) -> None:
    seen = snapshot([(1000, 100 * MIB), (500, 400 * MIB), (300, 700 * MIB)], [(0, 0)] * 3)
    chosen = decide(parse_policy(policy), seen, container(100, MIB), np.random.default_rng(0))
    assert chosen == expected


@given(some.lists(some.tuples(amounts, amounts), min_size=2, max_size=5), amounts)
def test_worst_fit_is_best_fit_reversed(
    nodes: list[tuple[tuple[int, int], tuple[int, int]]], request_: tuple[int, int]
) -> None:
    seen = snapshot([node for node, _ in nodes], [used for _, used in nodes])
    every, waiting = np.arange(len(nodes)), container(*request_)
    for measure in ("amount", "fraction"):
        best = parse_policy(f"best_fit[leftover={measure}]").score(seen, waiting, every)
        worst = parse_policy(f"worst_fit[leftover={measure}]").score(seen, waiting, every)
        assert best.tolist() == (-worst).tolist()


def openb() -> tuple[IntArray, IntArray]:
    """Nodes and pods of openb in order of submission; skips where they are not at hand."""
    folder = shared_data("openb")

    def rows(name: str) -> IntArray:
        with (folder / name).open(encoding="utf-8") as file:
            read = [(row["cpu_milli"], row["memory_mib"]) for row in csv.DictReader(file)]
        return np.asarray(np.array(read, dtype=np.int64) * np.array([1, MIB]))

    return rows("openb_node_list_all_node.csv"), rows("openb_pod_list_default.csv")


@pytest.mark.parametrize(
    ("policy", "nodes_used"),
    [("first_fit", 1077), ("best_fit", 1163), ("best_fit[leftover=fraction]", 1163)],
)
def test_openb_needs_as_many_nodes_as_other_simulators_say(policy: str, nodes_used: int) -> None:
    nodes, pods = openb()
    chosen = placements(parse_policy(policy), nodes, pods)
    assert None not in chosen
    assert len(set(chosen)) == nodes_used


def test_lowest_debris_takes_what_ff_passes_by() -> None:
    # golden placement.FF_FD: sizes 16 cores and 32 GB, the container 2 and 4
    seen = snapshot([(16, 32)] * 3, [(8, 8), (4, 24), (15, 10)])
    policy, rng = parse_policy("lowest_debris"), np.random.default_rng(0)
    debris = policy.explain(seen, container(2, 4), np.arange(2))["debris_after"]
    assert debris.tolist() == [0.5, 0.375]
    assert decide(policy, seen, container(2, 4), rng) == 1
    assert decide(parse_policy("first_fit"), seen, container(2, 4), rng) == 0


def test_lowest_debris_passes_by_a_node_without_capacity() -> None:
    seen = snapshot([(0, 0), (100, 100)], [(0, 0), (0, 0)])
    assert parse_policy("lowest_debris").score(seen, container(0, 0), np.arange(2)).tolist() == [
        -1.0,
        -1.0,
    ]


def test_random_takes_every_node_about_equally_often() -> None:
    seen, policy = snapshot([(10, 10)] * 4, [(0, 0)] * 4), parse_policy("random")
    rng = np.random.default_rng(5)
    chosen = [decide(policy, seen, container(1, 1), rng) for _ in range(4000)]
    counts = np.bincount(np.array(chosen), minlength=4)
    # four standard deviations of a binomial count around 1,000
    assert np.abs(counts - 1000).max() < 4 * np.sqrt(4000 * 0.25 * 0.75)


def nodes_used(name: str, sizes: list[int]) -> int:
    """Nodes of 100 that a policy uses for containers that are all there at the start."""
    load = workload([(100, 1000)] * len(sizes), [(0, 9000, size, 1) for size in sizes])
    outcome = Engine(load, parse_policy(name), np.random.default_rng(0)).run()
    assert (outcome.node >= 0).all()
    return len(set(outcome.node.tolist()))


@pytest.mark.parametrize(
    ("sizes", "first_fit", "decreasing"),
    [
        ([30, 30, 30, 70, 70, 70], 4, 3),
        ([10, 20, 30, 40, 60, 70, 80, 90], 5, 4),
        ([50] * 4, 2, 2),
        # four are enough (51 and 49 twice, 27 27 23 23, 26 26 23 23): no rule is the best always
        ([51, 51, 27, 27, 26, 26, 23, 23, 23, 23, 49, 49], 5, 5),
    ],
)
def test_it_knows_who_comes_and_first_fit_does_not(
    sizes: list[int], first_fit: int, decreasing: int
) -> None:
    assert nodes_used("first_fit", sizes) == first_fit
    assert nodes_used("first_fit_decreasing", sizes) == decreasing


@given(some.lists(some.integers(1, 100), min_size=1, max_size=24))
def test_it_keeps_the_bound_that_is_proven_for_it(sizes: list[int]) -> None:
    """Any two nodes together hold more than one has, and each but the last is almost full."""
    used = nodes_used("first_fit_decreasing", sizes)
    assert -(-sum(sizes) // 100) <= used
    assert used == 1 or used * 100 < 2 * sum(sizes)
    assert (used - 1) * (100 - max(sizes)) < sum(sizes)


def test_the_scarcest_resource_says_who_is_large() -> None:
    seen = snapshot([(100, 1000)] * 2, [(0, 0)] * 2)
    policy = parse_policy("first_fit_decreasing")
    batch = Batch(containers=(container(50, 10), container(60, 10), container(10, 900)))
    chosen = policy.select(seen, batch, np.random.default_rng(0))  # type: ignore[attr-defined]
    assert chosen.tolist() == [1, 0, 0]


GIB = 2**30


def with_cells(
    nodes: list[list[tuple[int, int]]], requests: list[tuple[int, int, int]]
) -> Workload:
    """Nodes of cells of (cpu_milli, memory_bytes); containers of cpu, memory, numa_cells."""
    capacity = np.array(nodes, dtype=np.int64)
    whole = [(int(cpu), int(memory)) for cpu, memory in capacity.sum(axis=1)]
    rows: list[Row] = [(0, 9000, cpu, memory) for cpu, memory, _ in requests]
    load = workload(whole, rows, steps=1)
    numa = np.array([one[2] for one in requests], dtype=np.int64)
    cells = Cells(capacity=capacity, request=load.containers.request, numa_cells=numa)
    return changed(load, rules={"constraints": Constraints(parts=(cells,))})


def placed(load: Workload, policy: str, placer: MakePlacer = rows_placer) -> list[int]:
    engine = Engine(load, parse_policy(policy), np.random.default_rng(0), placer=placer)
    return [int(node) for node in engine.run().node]


#: cells of nodes, containers, and where first fit and best fit by cell put them
CASES = {
    "one cell, not the sum of two": (
        [[(4, 9), (4, 9)], [(8, 9), (0, 0)]], [(6, 1, 1)], [1], [1]),
    "half on each of two": ([[(4, 9), (1, 9)], [(3, 9), (3, 9)]], [(4, 2, 2)], [1], [1]),
    "memory counts": ([[(8, 1), (8, 1)], [(8, 2), (8, 2)]], [(1, 2, 1), (1, 4, 2)], [1, -1],
                      [1, -1]),
    "the fullest cell, wherever": (
        [[(8, 9), (8, 9)], [(9, 9), (5, 9)]], [(4, 1, 1)], [0], [1]),
    "the whole node for two cells": (
        [[(9, 9), (9, 9)], [(8, 9), (9, 9)]], [(4, 1, 2)], [0], [1]),
    "who is bound to none takes room all the same": (
        [[(4, 9), (4, 9)]], [(4, 1, 0), (3, 1, 1), (3, 1, 1)], [0, 0, -1], [0, 0, -1]),
    "who is bound to none may lie over both": (
        [[(4, 9), (4, 9)]], [(6, 1, 0), (2, 1, 1), (1, 1, 1)], [0, 0, -1], [0, 0, -1]),
    "ties go to the first": ([[(5, 9), (5, 9)]] * 2, [(4, 1, 1)] * 3, [0, 0, 1], [0, 0, 1]),
    "the tight cell first": ([[(8, 9), (4, 9)]], [(4, 1, 1), (8, 1, 1)], [0, -1], [0, 0]),
}  # fmt: skip


@pytest.mark.parametrize("placer", [PlainPlacer, rows_placer, fast_placer])
@pytest.mark.parametrize(("nodes", "requests", "first", "best"), CASES.values(), ids=CASES)
def test_where_it_goes(
    nodes: list[list[tuple[int, int]]], requests: list[tuple[int, int, int]], first: list[int],
    best: list[int], placer: MakePlacer,
) -> None:  # fmt: skip
    load = with_cells(nodes, requests)
    assert placed(load, "first_fit", placer) == first
    assert placed(load, "best_fit_cell", placer) == best


@pytest.mark.parametrize(("sequence", "waiting"), [("c1", 5), ("c2", 0), ("c3", 64)])
def test_real_requests_on_real_cells(sequence: str, waiting: int) -> None:
    """With NUMA respected and affinity left out first fit places all, best fit leaves some."""
    folder = shared_data("huawei_topology25")
    nodes = pl.read_csv(folder / "pm_res.csv").to_numpy().reshape(-1, 2, 2)
    requests = pl.read_csv(folder / f"vm_data_{sequence}.csv").select(
        pl.col("flavor_vcpus", "flavor_ram", "numa").cast(pl.Int64)
    )
    unit = np.array([1000, GIB])
    load = with_cells(
        (nodes * unit).tolist(),
        [(cpu * 1000, memory * GIB, numa) for cpu, memory, numa in requests.iter_rows()],
    )
    assert load.containers.count == 4998
    assert placed(load, "first_fit").count(-1) == 0
    assert placed(load, "best_fit_cell").count(-1) == waiting
