"""Measures of every resource are those of plain loops, whoever samples."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from plain_measures import overloaded, plain_step
from replay_support import workload

from tracekit.cluster.resources import UNLIMITED
from tracekit.cluster.workload import Workload
from tracekit.policy.view import room
from tracekit.policy.view.room import Room, measured_names, typical_shapes
from tracekit.replay.engine.sampling import PlainSampler, Sampler
from tracekit.replay.fast.sampling import CompiledSampler
from tracekit.replay.measures import find_measure, measures_in, resources_in
from tracekit.replay.measures.use import rank_of

STEPS = 5
#: Columns that are not of one resource after another, and have tests of their own.
OF_CPU_AND_MEMORY = {
    "placed", "imbalance", "utilization_difference_fraction", "overloaded_nodes", "nodes_used",
    "qos_share",
}  # fmt: skip
SAMPLERS: list[Callable[[Workload], Sampler]] = [PlainSampler, CompiledSampler]


@some.composite
def workloads(draw: some.DrawFn) -> Workload:
    """Some nodes have no GPU or no limit of disk, nobody asks for the fifth resource."""
    nodes, containers = draw(some.integers(1, 6)), draw(some.integers(1, 9))
    rng = np.random.default_rng(draw(some.integers(0, 2**32)))
    load = workload([(1, 1)] * nodes, [(0, 10**9, 1, 1)] * containers, steps=STEPS)
    capacity = rng.integers(5, 30, (nodes, 5))
    capacity[:, 2] = rng.choice([10, 20, UNLIMITED], nodes)
    capacity[:, 4] = rng.choice([0, 2, 4], nodes)
    request = rng.integers(0, 9, (containers, 5))
    request[:, 3] = 0
    request[:, 4] = rng.choice([0, 0, 1, 2], containers)
    usage = rng.uniform(0, 9, (2, STEPS, containers)).astype(np.float32)
    further_used = tuple(draw(some.lists(some.integers(2, 4), max_size=3, unique=True)))
    further = rng.uniform(0, 9, (len(further_used), STEPS, containers)).astype(np.float32)
    further[rng.random(further.shape) < 0.2] = np.nan
    return dataclasses.replace(
        load,
        resources=("cpu_milli", "memory_bytes", "disk_bytes", "net_kbit", "gpu"),
        capacity=capacity,
        request=request,
        nonzero_request=request,
        limit=request,
        usage=usage,
        usage_column=rng.permutation(containers) if draw(some.booleans()) else None,
        further_used=further_used,
        further_usage=further if further_used else None,
        background=rng.uniform(0, 9, (2, STEPS, nodes)).astype(np.float32),
        daemon=rng.random(containers) < 0.2 if draw(some.booleans()) else None,
        price_per_hour=rng.choice([1.5, 4.0, np.nan], nodes) if draw(some.booleans()) else None,
    )


@pytest.mark.parametrize("make", SAMPLERS)
@settings(max_examples=25)
@given(workloads(), some.lists(some.integers(1, 2), min_size=1, max_size=2), some.integers(0, 99))
def test_every_step_is_that_of_plain_loops(
    make: Callable[[Workload], Sampler], load: Workload, stretches: list[int], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    sampler = make(load)
    expected: list[dict[str, float | None]] = []
    over: list[int] = []
    for stretch in stretches:
        running = rng.uniform(size=load.containers) < 0.7
        node = rng.integers(0, load.nodes, load.containers)
        steps = range(len(expected), len(expected) + stretch)
        list(sampler.sample(running, node, steps))
        expected += [plain_step(load, running.tolist(), node.tolist(), step) for step in steps]
        over += [overloaded(load, running.tolist(), node.tolist(), step) for step in steps]
    found = sampler.measures()
    assert found["overloaded_nodes"].tolist() == over
    for name in expected[0]:
        values = [None if np.isnan(value) else float(value) for value in found[name]]
        assert values == pytest.approx([row[name] for row in expected], abs=1e-9), name
    beyond = sorted(set(found) - set(expected[0]) - OF_CPU_AND_MEMORY)
    assert not beyond, f"add to tests/support/plain_measures.py, in plain loops: {beyond}"
    assert set(found) == set(expected[0]) | OF_CPU_AND_MEMORY


@given(workloads())
def test_both_samplers_give_the_same_bits(load: Workload) -> None:
    rng = np.random.default_rng(0)
    samplers = [make(load) for make in SAMPLERS]
    for steps in (range(2), range(2, STEPS)):
        running = rng.uniform(size=load.containers) < 0.7
        node = rng.integers(0, load.nodes, load.containers)
        counted = samplers[0].count(running, node).requested
        for sampler in samplers:
            list(sampler.sample(running, node, steps, counted))
    plain, fast = (sampler.measures() for sampler in samplers)
    assert set(plain) == set(fast)
    for name, values in plain.items():
        assert np.array_equal(values, fast[name], equal_nan=True), name
    use = [sampler.over_time.result() for sampler in samplers]
    assert all(np.array_equal(one, other) for one, other in zip(*use, strict=True))


@given(some.integers(1, 400))
def test_the_percentile_is_the_least_that_99_of_100_do_not_exceed(nodes: int) -> None:
    rank = rank_of(nodes)
    assert 100 * (rank + 1) >= 99 * nodes
    assert rank == 0 or 100 * rank < 99 * nodes


def test_of_very_many_shapes_some_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    request = np.random.default_rng(0).integers(1, 1000, (5000, 2))
    shapes, count = typical_shapes(request)
    assert count.sum() == room.MOST_SHAPES
    size = (shapes / request.max(axis=0)).mean(axis=1)
    every = (request / request.max(axis=0)).mean(axis=1)
    assert np.average(size, weights=count) == pytest.approx(every.mean(), rel=0.01)
    assert (size.min(), size.max()) == (every.min(), every.max())
    monkeypatch.setattr(room, "MOST_SHAPES", 10**6)
    assert typical_shapes(request)[1].sum() == 5000


def test_room_looks_again_at_nodes_that_changed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    load = workload([(10, 10)] * 4, [(0, 9000, 6, 2), (0, 9000, 5, 1)], steps=1)
    kept = Room(load)
    looked: list[int] = []
    fitting = kept._fitting

    def noted(free: np.ndarray) -> object:
        looked.append(len(free))
        return fitting(free)

    monkeypatch.setattr(kept, "_fitting", noted)
    first = np.array([[6, 2], [0, 0], [5, 1], [0, 0]])
    for requested in (first, first, np.where(np.arange(4)[:, None] == 1, 6, first)):
        for one, other in zip(kept.closed(requested), Room(load).closed(requested), strict=True):
            assert np.array_equal(one, other)
    assert looked == [4, 1]


def test_room_over_many_stretches_is_room_of_one_after_another() -> None:
    load = workload([(10, 10)] * 4, [(0, 9000, 6, 2), (0, 9000, 5, 1)], steps=1)
    rng, one, other = np.random.default_rng(3), Room(load), Room(load)
    for stretches in (1, 5, 3):
        requested = rng.choice([0, 3, 6], (stretches, 4, 2))
        closed, full = one.closed_over(requested)
        slowly = [other.closed(at) for at in requested]
        assert closed.tolist() == [of.tolist() for of, _ in slowly]
        assert full.tolist() == [of.tolist() for _, of in slowly]


def test_measures_are_found_by_their_names() -> None:
    columns = ["policy", "cpu_max_fraction", "nvidia_com_gpu_max_fraction", "cpu_max_gap_fraction",
               "nvidia_com_gpu_stranded_share", "debris_mean_fraction", "moves"]  # fmt: skip
    assert resources_in(columns) == ["cpu", "nvidia_com_gpu"]
    assert list(measures_in(columns)) == [
        "cpu_max_fraction", "nvidia_com_gpu_max_fraction", "nvidia_com_gpu_stranded_share", "moves"
    ]  # fmt: skip
    found = find_measure("network_spread_mean_fraction")
    assert found is not None
    assert found.bound == "requests"
    assert find_measure("imbalance_mean") is not None
    assert find_measure("imbalance") is None


def test_a_resource_that_nobody_asks_for_has_no_measures() -> None:
    load = dataclasses.replace(
        workload([(1, 1)], [(0, 9000, 1, 1)]),
        resources=("cpu_milli", "memory_bytes", "net", "net_kbit", "nvidia.com/gpu"),
        capacity=np.array([[1, 1, 5, 5, 5]]),
        request=np.array([[1, 1, 1, 1, 0]]),
        nonzero_request=np.array([[1, 1, 1, 1, 0]]),
        limit=np.array([[1, 1, 1, 1, 0]]),
    )
    assert measured_names(load) == ("cpu", "memory", "network", "net_kbit")
