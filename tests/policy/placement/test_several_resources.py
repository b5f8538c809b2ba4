"""Policies that weigh several resources: against loops, the original, and worked examples.

Numbers marked upstream are those of the unit tests of github.com/adolphlwq/liang @56384517.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as some
from replay_support import waiting, workload

from tracekit.base.arrays import FloatArray
from tracekit.cluster.resources import DISK_IO, NET, column_of, lacking
from tracekit.policy.parse import parse_policy
from tracekit.policy.placement._extender import balance_scores, variances_after
from tracekit.policy.placement.node_resources import BalancedAllocation, LeastAllocated
from tracekit.policy.placement.several_resources import faithful_scores
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.snapshot import Snapshot
from tracekit.policy.view.usage import SeriesUsage
from tracekit.replay.runs.run import replay
from tracekit.replay.runs.run_folder import manifest_of

RESOURCES = ("cpu_milli", "memory_bytes", DISK_IO, NET)
EXTENDER_ALONE = "builtin=none,weight=1"


def seen(
    capacity: Sequence[Sequence[int]],
    used: Sequence[Sequence[float]],
    resources: tuple[str, ...] = RESOURCES,
) -> Snapshot:
    """Nodes of these sizes that use these fractions, all measured, nothing requested."""
    room = np.array(capacity, dtype=np.int64)
    cluster = Cluster(resources=resources, capacity=room, allocatable=room)
    return cluster.snapshot(0, usage=SeriesUsage(np.array([used], dtype=np.float64), 0))


def on_network(
    policy: str, need: int, current: Sequence[float], capacity: Sequence[float]
) -> list[int]:
    """Scores of the extender alone for nodes that differ in their network only."""
    sizes = [(1000, 1000, 0, int(cap)) for cap in capacity]
    used = [(0, 0, 0, cur / cap) for cur, cap in zip(current, capacity, strict=True)]
    scores = parse_policy(policy).score(
        seen(sizes, used), waiting(0, 0, 0, need), np.arange(len(sizes))
    )
    assert (scores % 10 == 0).all()
    return [int(score) // 10 for score in scores]


@pytest.mark.parametrize(
    ("need", "current", "capacity", "expected"),
    [
        # upstream BNPScore, kbit/s
        (1, [0], [1e6], [100]),
        (1, [0, 0, 0], [1e6, 1.5e6, 2.5e6], [0, 66, 100]),
        (1, [1024, 1024, 1024], [1e6, 1.5e6, 2.5e6], [0, 76, 100]),
        (1, [16807.00002, 17923.2, 0.0], [1e9, 1.5e9, 2.5e9], [0, 51, 100]),
        (1, [0, 1024, 1024], [1e9, 1.5e9, 2.5e9], [100, 0, 33]),
        (1, [512, 4096, 2048, 1024], [1e6, 1e6, 2e6, 3e6], [100, 0, 79, 83]),
        (
            2,
            [512, 4096, 2048, 512, 1024, 1024],
            [1e6, 2e6, 1e6, 5e6, 1e9, 1e6],
            [100, 35, 0, 82, 71, 66],
        ),
        (2, [7, 83049, 461394], [1e6, 1.5e6, 2.5e6], [100, 47, 0]),
        # upstream Score, the annotation of 1 Mbit/s in kbit/s
        (1000, [0], [1000], [100]),
        (1000, [0, 0, 0], [1000, 1e6, 1e9], [0, 99, 100]),
        (1000, [512, 4096, 2048], [1e6, 1e6, 1e6], [100, 0, 57]),
        (1000, [0, 1024, 1024], [1e9, 1.5e9, 2.5e9], [100, 0, 73]),
        # the formula of the article
        (80_000, [4000, 15000, 0], [1e6, 1.5e6, 2.5e6], [0, 44, 100]),
        # nothing needed; no node valid; one node valid; equal variances
        (0, [10, 20], [100, 100], [0, 0]),
        (90, [20, 20], [100, 100], [0, 0]),
        (90, [20, 5], [100, 100], [0, 100]),
        (1, [5, 5], [100, 100], [0, 0]),
    ],
)
@pytest.mark.parametrize("policy", [f"bnp[{EXTENDER_ALONE}]"])
def test_bnp(
    policy: str, need: int, current: list[float], capacity: list[float], expected: list[int]
) -> None:
    # the scores as published, and once more through a snapshot
    valid = np.flatnonzero(need + np.array(current) <= np.array(capacity))
    scores = np.zeros(len(current), dtype=np.int64)
    scores[valid] = balance_scores(need, np.array(current)[valid], np.array(capacity)[valid])
    assert scores.tolist() == expected
    assert on_network(policy, need, current, capacity) == expected


def two_pass(need: float, current: FloatArray, capacity: FloatArray) -> list[float]:
    """The original's way: the whole variance again for every node."""
    variances = []
    for at in range(len(current)):
        load = current / capacity
        load[at] = (current[at] + need) / capacity[at]
        variances.append(float(np.square(load - load.mean()).sum() / (len(load) - 1)))
    return variances


loads = some.lists(
    some.tuples(some.integers(0, 1000), some.integers(1001, 5000)), min_size=2, max_size=12
)


@given(loads, some.integers(1, 1000))
def test_the_variance_by_sums_is_the_variance(nodes: list[tuple[int, int]], need: int) -> None:
    current, capacity = np.array(nodes, dtype=np.float64).T
    fast, slow = variances_after(need, current, capacity), two_pass(need, current, capacity)
    assert fast == pytest.approx(slow, rel=1e-9, abs=1e-15)


@given(loads, some.integers(1, 1000))
def test_scores_by_sums_are_the_originals_but_for_rounding(
    nodes: list[tuple[int, int]], need: int
) -> None:
    current, capacity = np.array(nodes, dtype=np.float64).T
    slow = np.array(two_pass(need, current, capacity))
    # where all variances are nearly one the original scores its own rounding errors
    assume(slow.max() - slow.min() > 1e-9 * slow.max())
    exact = 100 - 100 * (slow - slow.min()) / (slow.max() - slow.min())
    scores = balance_scores(need, current, capacity)
    assert (scores <= exact + 1e-4).all()
    assert (scores > exact - 1 - 1e-4).all()


@pytest.mark.parametrize("policy", ["bnp", "cmdn", "cmdn[mode=fixed]", "bdi"])
def test_built_in_scores_are_those_of_the_default_scheduler(policy: str) -> None:
    here = seen([(1000, 1000, 100, 100), (2000, 1000, 100, 200)], [(0.1, 0.2, 0.3, 0.4)] * 2)
    one, nodes = waiting(300, 100, 10, 20), np.arange(2)
    parts = parse_policy(policy).explain(here, one, nodes)
    assert parts["least_allocated"].tolist() == LeastAllocated().score(here, one, nodes).tolist()
    balance = BalancedAllocation().score(here, one, nodes)
    assert parts["balanced_allocation"].tolist() == balance.tolist()
    together = sum(parts.values()) + 9 * parts["extender"]
    assert parse_policy(policy).score(here, one, nodes).tolist() == together.tolist()


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        ([[1, 2], [3, 4]], [0, 100]),
        ([[3, 2, 3], [4, 4, 5], [3, 5, 8]], [0, 60, 74]),
        ([[3, 2, 3], [4, 4, 5], [3, 5, 8], [1, 9, 3]], [42, 65, 64, 36]),
        ([[5, 5], [5, 5]], [50, 50]),  # 0/0 upstream, whose result depends on the machine
        ([[7, 0]], [100]),
        ([[0, 0], [0, 0]], [50, 50]),
    ],
)
def test_cmdn_scores_of_a_matrix(matrix: list[list[float]], expected: list[int]) -> None:
    assert faithful_scores(np.array(matrix, dtype=np.float64)).tolist() == expected


def scores(policy: str, here: Snapshot, request: Sequence[int]) -> list[int]:
    result = parse_policy(policy).score(here, waiting(*request), np.arange(len(here.capacity)))
    return [int(score) // 10 for score in result]


FAITHFUL = f"cmdn[{EXTENDER_ALONE}]"
FAITHFUL_BALANCED = f"cmdn[{EXTENDER_ALONE},balanced=true]"
FIXED = f"cmdn[{EXTENDER_ALONE},mode=fixed]"
FIXED_BALANCED = f"cmdn[{EXTENDER_ALONE},mode=fixed,balanced=true]"
SAME = (1000, 1000, 1000, 1000)


def test_a_full_node_looks_empty_to_the_original_only() -> None:
    here = seen([SAME, SAME], [(0.4, 0.3, 0, 0), (0.9, 0.3, 0, 0)])
    assert scores(FAITHFUL_BALANCED, here, (0, 0, 0, 0)) == [0, 100]
    # the only valid one of a cost criterion is as good as it is bad
    assert scores(FIXED_BALANCED, here, (0, 0, 0, 0)) == [50, 0]


def test_more_bandwidth_counts_against_a_node_in_the_original_only() -> None:
    here = seen([SAME, (1000, 1000, 1000, 5000)], [(0.4, 0.3, 0, 0), (0.4, 0.3, 0, 0)])
    assert scores(FAITHFUL_BALANCED, here, (0, 0, 0, 0)) == [100, 0]
    assert scores(FIXED_BALANCED, here, (0, 0, 0, 0)) == [0, 100]


def test_the_original_loses_valid_nodes_behind_filtered_ones() -> None:
    # n0 has no room for the network need: one name is left, and it is the filtered one's
    here = seen([SAME, SAME], [(0.2, 0.2, 0, 0.9), (0.4, 0.4, 0, 0.1)])
    assert scores(FAITHFUL, here, (0, 0, 0, 500)) == [0, 0]
    assert scores(FIXED, here, (0, 0, 0, 500)) == [0, 50]


def test_the_original_does_not_see_disks_at_work() -> None:
    here = seen([SAME, SAME], [(0.2, 0.2, 0.1, 0), (0.2, 0.2, 0.7, 0)])
    assert scores(FAITHFUL, here, (0, 0, 0, 0)) == [50, 50]
    assert scores(FIXED, here, (0, 0, 0, 0)) == [0, 100]


def test_small_network_loads_are_nothing_to_the_original() -> None:
    here = seen([SAME, SAME], [(0.2, 0.2, 0, 0.001), (0.2, 0.2, 0, 0.004)])
    assert scores(FAITHFUL, here, (0, 0, 0, 0)) == [50, 50]
    assert scores(FIXED, here, (0, 0, 0, 0)) == [0, 100]


def test_the_containers_own_need_counts_in_the_repaired_form() -> None:
    small = (500, 1000, 1000, 1000)
    here = seen([SAME, small], [(0.2, 0.2, 0, 0), (0.2, 0.2, 0, 0)])
    assert scores(FAITHFUL, here, (100, 0, 0, 0)) == [50, 50]
    assert scores(FIXED_BALANCED, here, (100, 0, 0, 0)) == [100, 0]


def test_resources_that_the_workload_lacks_are_left_out() -> None:
    here = seen(
        [(1000, 1000), (1000, 1000)], [(0.2, 0.3), (0.6, 0.3)], ("cpu_milli", "memory_bytes")
    )
    assert scores(FAITHFUL, here, (0, 0)) == [0, 100]
    assert scores(FIXED, here, (0, 0)) == [0, 100]
    assert scores(f"bnp[{EXTENDER_ALONE}]", here, (10, 10)) == [0, 0]
    assert scores(f"bdi[{EXTENDER_ALONE}]", here, (10, 10)) == [0, 0]
    load = workload([(1000, 1000)] * 2, [(0, 9000, 10, 10)])
    policies = [parse_policy("cmdn"), parse_policy("first_fit")]
    stated = manifest_of(replay(load, policies, seed=0))["policies"]
    assert [one["left_out"] for one in stated] == [[NET, DISK_IO], []]


def test_what_is_not_measured_is_taken_from_the_requests() -> None:
    here = seen([SAME, SAME], [(0.0, 0.0), (0.0, 0.0)])
    on_nodes = np.array([[0, 0, 0, 800], [0, 0, 0, 100]])
    here = dataclasses.replace(here, requested=on_nodes)
    # 800 and 300 more do not fit into 1000
    assert scores(f"bnp[{EXTENDER_ALONE}]", here, (0, 0, 0, 300)) == [0, 100]


def test_bdi_is_bnp_on_the_disk() -> None:
    rng = np.random.default_rng(3)
    fractions = rng.uniform(0, 0.5, (5, 4))
    swapped = fractions[:, [0, 1, 3, 2]]
    request, other = (10, 10, 40, 7), (10, 10, 7, 40)
    on_disk = scores(f"bdi[{EXTENDER_ALONE}]", seen([SAME] * 5, fractions.tolist()), request)
    on_net = scores(f"bnp[{EXTENDER_ALONE}]", seen([SAME] * 5, swapped.tolist()), other)
    assert on_disk == on_net
    assert max(on_disk) == 100


def test_bcdi_levels_cpu_and_disk() -> None:
    here = seen([SAME, SAME], [(0.125, 0.0, 0.5, 0.0), (0.375, 0.0, 0.0, 0.0)])
    scores = parse_policy("bcdi").score(here, waiting(125, 0, 250, 0), np.arange(2))
    # after placing: .25 and .75, .5 and .25
    assert scores.tolist() == [50, 75]
    bare = seen([SAME[:2]] * 2, [(0.1, 0.1)] * 2, RESOURCES[:2])
    assert parse_policy("bcdi").score(bare, waiting(1, 1), np.arange(2)).tolist() == [0, 0]


def test_a_resource_goes_by_several_names() -> None:
    assert column_of(("cpu_milli", "net"), "net_kbit") == 1
    assert column_of(("net", "net_kbit"), "net_kbit") == 1
    assert column_of(("cpu_milli",), "net_kbit") is None
    assert lacking(("net_kbit", "disk_io_bytes"), ("disk_io",)) == ["net_kbit"]
