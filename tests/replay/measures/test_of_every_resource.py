"""Measures of every resource are those of plain loops, whoever samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import changed, widened, workload

from tracekit.cluster.resources import UNLIMITED
from tracekit.cluster.workload import Workload
from tracekit.replay.engine.sampling import PlainSampler, Sampler
from tracekit.replay.engine.steps import step_schema
from tracekit.replay.fast.sampling import CompiledSampler
from tracekit.replay.measures import find_measure, measures_in, not_asked_for, resources_in, room
from tracekit.replay.measures.room import Room, measured_names, typical_shapes
from tracekit.replay.measures.sampled import requested_on
from tracekit.replay.measures.use import rank_of

#: Columns of the workloads here, and what their measures are called after.
NAMES = {
    "cpu_milli": "cpu",
    "memory_bytes": "memory",
    "disk_bytes": "disk",
    "net_kbit": "network",
    "gpu": "gpu",
}


def plain_step(
    load: Workload, running: Sequence[bool], node: Sequence[int], step: int
) -> dict[str, float | None]:
    """The columns of steps.parquet that tell of use and requests; None for what is not defined."""
    here = [
        [c for c in range(load.containers.count) if running[c] and node[c] == n]
        for n in range(load.nodes.count)
    ]
    results: dict[str, float | None] = {}
    for column, resource in enumerate(load.resources):
        nodes = [
            n for n in range(load.nodes.count) if 0 < load.nodes.capacity[n, column] < UNLIMITED
        ]
        wanted = any(load.containers.request[c, column] for c in range(load.containers.count))
        if not nodes or (column > 1 and not wanted and column not in load.use.further_resources):
            continue
        results |= _of_resource(load, here, step, column, NAMES[resource], nodes)
    shares = _shares(load, here, step)
    if any(len(one) > 2 for one in shares):
        off = [[share - _mean(one) for share in one] for one in shares]
        results["imbalance_of_all"] = _mean([math.hypot(*one) for one in off])
    results["above_ceiling_nodes"] = sum(
        _above(load, here, n, step) for n in range(load.nodes.count)
    )
    full = [n for n in range(load.nodes.count) if _is_full(load, here, n)]
    idle = [1 - _mean(_allocated(load, here, n)) for n in full]
    results["debris_full_fraction"] = _mean(idle) if idle else None
    if load.nodes.price_per_hour is not None and not any(
        map(math.isnan, load.nodes.price_per_hour)
    ):
        used = [n for n in range(load.nodes.count) if any(not _daemon(load, c) for c in here[n])]
        results["cost_per_hour"] = math.fsum(float(load.nodes.price_per_hour[n]) for n in used)
    return results


def _shares(load: Workload, here: Sequence[Sequence[int]], step: int) -> list[list[float]]:
    """Of each node the share in use of each measured resource that it has."""
    results: list[list[float]] = [[] for _ in here]
    for column in range(len(load.resources)):
        wanted = any(load.containers.request[c, column] for c in range(load.containers.count))
        for n in range(load.nodes.count):
            size = int(load.nodes.capacity[n, column])
            if column > 1 and not (wanted or column in load.use.further_resources):
                continue
            if 0 < size < UNLIMITED:
                results[n].append(_used(load, here, step, column, n) / size)
    return results


def _used(load: Workload, here: Sequence[Sequence[int]], step: int, column: int, n: int) -> float:
    if column < 2:
        own = math.fsum(float(load.use.at(step)[column, c]) for c in here[n])
        return float(load.use.background[column, step, n]) + own
    if column in load.use.further_resources:
        return math.fsum(_further(load, c, column, step) for c in here[n])
    return float(sum(int(load.containers.request[c, column]) for c in here[n]))


def _of_resource(
    load: Workload,
    here: Sequence[Sequence[int]],
    step: int,
    column: int,
    name: str,
    nodes: Sequence[int],
) -> dict[str, float | None]:
    size = {n: float(load.nodes.capacity[n, column]) for n in nodes}
    requested = {n: sum(int(load.containers.request[c, column]) for c in here[n]) for n in nodes}
    use = {n: _used(load, here, step, column, n) for n in nodes}
    shares = sorted(use[n] / size[n] for n in nodes)
    mean, whole = _mean(shares), math.fsum(size.values())
    free = {n: max(size[n] - requested[n], 0.0) for n in nodes}
    stranded = math.fsum(free[n] * _closed(load, here, n, column) for n in nodes)
    # the smallest that at least 99 of 100 do not exceed
    percentile = next(s for at, s in enumerate(shares) if 100 * (at + 1) >= 99 * len(shares))
    return {
        f"{name}_mean_fraction": mean,
        f"{name}_max_fraction": shares[-1],
        f"{name}_p99_fraction": percentile,
        f"{name}_spread_fraction": shares[-1] - shares[0],
        f"{name}_std_fraction": math.sqrt(_mean([(share - mean) ** 2 for share in shares])),
        f"{name}_allocated_share": sum(requested.values()) / whole,
        f"{name}_overload_fraction": math.fsum(max(use[n] - size[n], 0) for n in nodes) / whole,
        f"{name}_overload_nodes": sum(share > 1 for share in shares),
        f"{name}_stranded_share": stranded / whole,
    }


def _above(load: Workload, here: Sequence[Sequence[int]], n: int, step: int) -> bool:
    """Whether a node uses more of its CPU or memory than the ceiling."""
    most = (load.rules.ceiling.cpu_fraction, load.rules.ceiling.memory_fraction)
    used = [
        float(load.use.background[r, step, n])
        + math.fsum(float(load.use.at(step)[r, c]) for c in here[n])
        for r in range(2)
    ]
    return any(used[r] / float(load.nodes.capacity[n, r]) > most[r] for r in range(2))


def _further(load: Workload, c: int, column: int, step: int) -> float:
    """Recorded use of a further resource, what is requested where none is."""
    assert load.use.further is not None
    its = c if load.use.column is None else int(load.use.column[c])
    use = float(load.use.further[load.use.further_resources.index(column), step, its])
    return float(load.containers.request[c, column]) if math.isnan(use) else use


def overloaded(load: Workload, running: Sequence[bool], node: Sequence[int], step: int) -> int:
    """Nodes that use more than they have of a resource whose use is recorded."""
    count = 0
    for n in range(load.nodes.count):
        here = [c for c in range(load.containers.count) if running[c] and node[c] == n]
        used = {
            r: float(load.use.background[r, step, n])
            + math.fsum(float(load.use.at(step)[r, c]) for c in here)
            for r in range(2)
        }
        for r in load.use.further_resources:
            if 0 < load.nodes.capacity[n, r] < UNLIMITED:
                used[r] = math.fsum(_further(load, c, r, step) for c in here)
        count += any(amount > load.nodes.capacity[n, r] for r, amount in used.items())
    return count


def _closed(load: Workload, here: Sequence[Sequence[int]], n: int, column: int) -> float:
    """Of the containers that ask for this and that the empty node takes, who do not fit now."""
    would = [
        c for c in _typical(load) if load.containers.request[c, column] and _fits(load, [], n, c)
    ]
    return _mean([not _fits(load, here[n], n, c) for c in would]) if would else 0.0


def _is_full(load: Workload, here: Sequence[Sequence[int]], n: int) -> bool:
    would = [c for c in _typical(load) if _fits(load, [], n, c)]
    return bool(would) and not any(_fits(load, here[n], n, c) for c in would)


def _fits(load: Workload, present: Sequence[int], n: int, c: int) -> bool:
    return all(
        wanted == 0
        or sum(int(load.containers.request[o, r]) for o in present) + wanted
        <= load.nodes.capacity[n, r]
        for r, wanted in enumerate(load.containers.request[c].tolist())
    )


def _typical(load: Workload) -> list[int]:
    return [c for c in range(load.containers.count) if not _daemon(load, c)]


def _daemon(load: Workload, c: int) -> bool:
    return load.rules.daemon is not None and bool(load.rules.daemon[c])


def _allocated(load: Workload, here: Sequence[Sequence[int]], n: int) -> list[float]:
    """The share of each resource the node has, and somebody asks for, that is requested."""
    return [
        min(
            sum(int(load.containers.request[c, r]) for c in here[n])
            / float(load.nodes.capacity[n, r]),
            1.0,
        )
        for r in range(len(load.resources))
        if 0 < load.nodes.capacity[n, r] < UNLIMITED
        and (r < 2 or load.containers.request[:, r].any() or r in load.use.further_resources)
    ]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


STEPS = 5
#: Columns that are not of one resource after another, and have tests of their own.
OF_CPU_AND_MEMORY = {
    "placed", "imbalance", "utilization_difference_fraction", "overloaded_nodes", "nodes_used",
    "qos_share",
}  # fmt: skip
SAMPLERS: list[Callable[[Workload], Sampler]] = [PlainSampler, CompiledSampler]


@some.composite
def workloads(draw: some.DrawFn, most: int = 6) -> Workload:
    """At most so many nodes, some without GPU or limit of disk; nobody asks for the network."""
    nodes, containers = draw(some.integers(1, most)), draw(some.integers(1, 9))
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
    return changed(
        load,
        nodes={
            "capacity": capacity,
            "price_per_hour": rng.choice([1.5, 4.0, np.nan], nodes)
            if draw(some.booleans())
            else None,
        },
        containers={"request": request, "nonzero_request": request, "limit": request},
        use={
            "values": usage,
            "column": rng.permutation(containers) if draw(some.booleans()) else None,
            "further_resources": further_used,
            "further": further if further_used else None,
            "background": rng.uniform(0, 9, (2, STEPS, nodes)).astype(np.float32),
        },
        rules={"daemon": rng.random(containers) < 0.2 if draw(some.booleans()) else None},
        resources=("cpu_milli", "memory_bytes", "disk_bytes", "net_kbit", "gpu"),
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
        running = rng.uniform(size=load.containers.count) < 0.7
        node = rng.integers(0, load.nodes.count, load.containers.count)
        steps = range(len(expected), len(expected) + stretch)
        list(sampler.sample(running, node, steps))
        expected += [plain_step(load, running.tolist(), node.tolist(), step) for step in steps]
        over += [overloaded(load, running.tolist(), node.tolist(), step) for step in steps]
    result = sampler.measures()
    assert result["overloaded_nodes"].tolist() == over
    whole = {name for name, kind in step_schema(load).items() if kind == pl.Int64}
    assert {name for name, values in result.items() if values.dtype.kind == "i"} == whole & set(
        result
    )
    for name in expected[0]:
        values = [None if np.isnan(value) else float(value) for value in result[name]]
        assert values == pytest.approx([row[name] for row in expected], abs=1e-9), name
    beyond = sorted(set(result) - set(expected[0]) - OF_CPU_AND_MEMORY)
    assert not beyond, f"add to plain_step, in plain loops: {beyond}"
    assert set(result) == set(expected[0]) | OF_CPU_AND_MEMORY


@given(workloads(300))
def test_both_samplers_give_the_same_bits(load: Workload) -> None:
    rng = np.random.default_rng(0)
    samplers = [make(load) for make in SAMPLERS]
    for steps in (range(2), range(2, STEPS)):
        running = rng.uniform(size=load.containers.count) < 0.7
        node = rng.integers(0, load.nodes.count, load.containers.count)
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
    staying = Room(load)
    looked: list[int] = []
    fitting = staying._fitting

    def noted(free: np.ndarray) -> object:
        looked.append(len(free))
        return fitting(free)

    monkeypatch.setattr(staying, "_fitting", noted)
    first = np.array([[6, 2], [0, 0], [5, 1], [0, 0]])
    for requested in (first, first, np.where(np.arange(4)[:, None] == 1, 6, first)):
        anew = Room(load).lost_shares(requested[None])
        for one, other in zip(staying.lost_shares(requested[None]), anew, strict=True):
            assert np.array_equal(one, other)
    assert looked == [4, 0, 1]


def test_room_over_many_stretches_is_room_of_one_after_another() -> None:
    load = workload([(10, 10)] * 4, [(0, 9000, 6, 2), (0, 9000, 5, 1)], steps=1)
    rng, one, other = np.random.default_rng(3), Room(load), Room(load)
    for stretches in (1, 5, 3):
        requested = rng.choice([0, 3, 6], (stretches, 4, 2))
        closed, full = one.lost_shares(requested)
        slowly = [other.lost_shares(at[None]) for at in requested]
        assert closed.tolist() == [of[0].tolist() for of, _ in slowly]
        assert full.tolist() == [of[0].tolist() for _, of in slowly]


def test_measures_are_found_by_their_names() -> None:
    columns = ["policy", "cpu_max_fraction", "nvidia_com_gpu_max_fraction", "cpu_max_gap_fraction",
               "nvidia_com_gpu_stranded_share", "debris_mean_fraction", "moves"]  # fmt: skip
    assert resources_in(columns) == ["cpu", "nvidia_com_gpu"]
    assert list(measures_in(columns)) == [
        "cpu_max_fraction", "nvidia_com_gpu_max_fraction", "nvidia_com_gpu_stranded_share", "moves"
    ]  # fmt: skip
    result = find_measure("network_spread_mean_fraction")
    assert result is not None
    assert result.bound == "requests"
    assert find_measure("imbalance_mean") is not None
    assert find_measure("imbalance") is None


def test_a_resource_that_nobody_asks_for_has_no_measures() -> None:
    names = ("net", "net_kbit", "nvidia.com/gpu")
    load = widened(workload([(1, 1)], [(0, 9000, 1, 1)]), [[5, 5, 5]], [[1, 1, 0]], *names)
    assert measured_names(load) == ("cpu", "memory", "network", "net_kbit")


@pytest.mark.parametrize("most", [10**6, 2**54])
def test_requests_are_added_up_exactly(most: int) -> None:
    rng = np.random.default_rng(1)
    request = rng.integers(0, most, (50, 3))
    at, node = np.arange(0, 50, 2), rng.integers(0, 4, 25)
    expected = [sum(request[at[node == n]], start=np.zeros(3, dtype=np.int64)) for n in range(4)]
    assert np.array_equal(requested_on(request, at, node, 4), expected)


def test_a_resource_is_asked_for_that_one_policy_alone_places() -> None:
    rows = {"cpu_max_fraction": [0.5, 0.9], "gpu_max_fraction": [0.0, 0.1]}
    idle = {"memory_max_fraction": [0.0, 0.0], "net_max_fraction": [None, None]}
    assert sorted(not_asked_for(pl.DataFrame(rows | idle))) == ["memory", "net"]
