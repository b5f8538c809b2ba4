"""TBESK: its fitness by worked examples and plain loops, and what its batches do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tracekit.metrics.imbalance import imbalance
from tracekit.replay.cluster import Cluster
from tracekit.replay.decision import decide
from tracekit.replay.engine import Engine
from tracekit.replay.parameters import ParameterError
from tracekit.replay.placement import parse_policy
from tracekit.replay.placement._batch import Batch, BatchPolicy
from tracekit.replay.placement._fitness import (
    BALANCED,
    COMPRESSIBLE,
    INCOMPRESSIBLE,
    FitnessPolicy,
)
from tracekit.replay.placement._searching import BatchFitness, decode
from tracekit.replay.snapshot import Container, Snapshot
from tracekit.replay.usage import SeriesUsage
from tracekit.replay.workloads.paper000 import Paper000

FOUR = ("cpu_milli", "memory_bytes", "net_kbit", "disk_bytes")
SEARCHING = ["bes", "tbesk", "tpso", "tsbo", "tssa"]
GOLDEN = {  # total, used at the peak, fitness by hand
    "n1": ((32, 64, 1000, 1000), (16, 20, 300, 400), 1.25268398268398),
    "n2": ((48, 96, 2000, 1500), (30, 70, 500, 900), 1.15139423076923),
    "n3": ((16, 64, 1000, 500), (13, 16, 200, 100), None),
}
POD = (4, 4, 120, 50)


def cluster(
    total: Any, requested: Any, *, used: Any = None, resources: tuple[str, ...] = FOUR
) -> Snapshot:
    """Nodes with requests on them; measured fractions, shape (samples, nodes, 2), at time 0."""
    room, taken = np.array(total, dtype=np.int64), np.array(requested, dtype=np.int64)
    made = Cluster(resources=resources, capacity=room, allocatable=room)
    for node, amounts in enumerate(taken):
        made.change(node, amounts, amounts, amounts, sign=1)
    samples = np.empty((0, len(room), 2)) if used is None else np.asarray(used, np.float64)
    seen = SeriesUsage(samples, 0 if len(samples) else None)
    return made.snapshot(1, usage=seen)


def waiting(*request: int) -> Container:
    row = np.array(request, dtype=np.int64)
    return Container(id="c", service="s", request=row, nonzero_request=row, limit=row)


def fitness_policy(text: str = "tbesk_exact") -> FitnessPolicy:
    policy = parse_policy(text)
    assert isinstance(policy, FitnessPolicy)
    return policy


def golden() -> Snapshot:
    return cluster([row[0] for row in GOLDEN.values()], [row[1] for row in GOLDEN.values()])


def test_fitness_of_the_worked_example() -> None:
    policy, seen, pod = fitness_policy(), golden(), waiting(*POD)
    scores = policy.score(seen, pod, np.arange(3))
    assert scores[:2] == pytest.approx([GOLDEN["n1"][2], GOLDEN["n2"][2]], abs=1e-12)
    assert policy.admits(seen, pod, np.arange(3)).tolist() == [True, True, False]
    assert decide(policy, seen, pod, np.random.default_rng(0)) == 0
    judged = BatchFitness(policy, seen, Batch(containers=(pod,)))
    fitness, placed = judged.fitness(np.arange(3)[:, None])
    assert fitness == pytest.approx([GOLDEN["n1"][2], GOLDEN["n2"][2], -10.0], abs=1e-12)
    assert placed[:, 0].tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        ((4, 4, 120, 50), COMPRESSIBLE),
        ((1, 8, 20, 150), INCOMPRESSIBLE),
        ((4, 4, 20, 50), BALANCED),
        ((2, 4, 60, 60), BALANCED),
    ],
)
def test_kinds_of_pods(request_: tuple[int, ...], kind: int) -> None:
    policy = fitness_policy()
    seen = cluster([(32, 64, 1000, 1000)], [(0, 0, 0, 0)])
    ground = policy.ground(seen, np.arange(1))
    assert policy.kinds(ground, waiting(*request_)).tolist() == [kind]


def test_without_network_and_disk_the_other_pair_decides() -> None:
    policy = fitness_policy()
    seen = cluster([(32, 64)], [(0, 0)], resources=FOUR[:2])
    ground = policy.ground(seen, np.arange(1))
    assert policy.kinds(ground, waiting(4, 4)).tolist() == [COMPRESSIBLE]
    assert policy.mu(ground)[COMPRESSIBLE].tolist() == [0.75, 0.25]
    assert policy.nu(ground).tolist() == [0.5, 0.5]


def test_weights_are_those_of_a_three_to_one_judgement() -> None:
    policy = fitness_policy()
    ground = policy.ground(golden(), np.arange(3))
    assert policy.mu(ground)[COMPRESSIBLE].tolist() == [0.375, 0.125, 0.375, 0.125]
    assert policy.mu(ground)[INCOMPRESSIBLE].tolist() == [0.125, 0.375, 0.125, 0.375]
    assert policy.mu(ground)[BALANCED].tolist() == [0.25] * 4


def test_imbalance_of_the_worked_example() -> None:
    use = np.array([[0.5, 0.7, 0.6, 0.4], [0.8, 0.8, 0.8, 0.8], [0.2, 0.9, 0.3, 0.6]])
    assert imbalance(use) == pytest.approx([0.22360679774998, 0.0, 0.54772255750517])


def test_decoding() -> None:
    assert decode(np.array([0.0, 0.999, 1.0, 30.5, 31.0, -3.2]), 31).tolist() == [
        0, 0, 1, 30, 30, 0,
    ]  # fmt: skip


def test_what_counts_as_used() -> None:
    measured = [[[0.1, 0.1]], [[0.6, 0.2]], [[0.3, 0.5]]]
    seen = cluster([(100, 100, 100, 100)], [(10, 20, 30, 40)], used=measured)

    def used(text: str) -> list[float]:
        policy = fitness_policy(f"tbesk_exact[{text}]")
        return [float(v) for v in policy.ground(seen, np.arange(1)).used[0]]

    assert used("basis=peak") == pytest.approx([60, 50, 30, 40])
    assert used("basis=peak,samples=1") == pytest.approx([30, 50, 30, 40])
    assert used("basis=latest") == pytest.approx([30, 50, 30, 40])
    assert used("basis=requests") == [10, 20, 30, 40]


def test_what_came_after_the_newest_sample_counts_by_its_request() -> None:
    room = np.array([(100, 100)], dtype=np.int64)
    made = Cluster(resources=FOUR[:2], capacity=room, allocatable=room)
    for amounts in np.array([(10, 10), (7, 5)], dtype=np.int64):
        made.change(0, amounts, amounts, amounts, sign=1)
    usage = SeriesUsage(np.full((1, 1, 2), 0.5), 5, np.array([[10, 10]], dtype=np.int64))
    seen = made.snapshot(10, usage=usage)
    assert fitness_policy().ground(seen, np.arange(1)).used.tolist() == [[57.0, 55.0]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tcrit=1.5", "at most 1"),
        ("dominance=0.5", "at least 1"),
        ("load_weights=io:1", "must be of one of"),
        ("load_weights=cpu:0", "sum to 0"),
        ("batch_size=0", "at least 1"),
        ("population=1", "at least 2"),
        ("alpha=3", "at most 2"),
    ],
)
def test_parameters_out_of_range(text: str, problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        parse_policy(f"tbesk[{text}]")


def plain_fitness(
    policy: FitnessPolicy, seen: Snapshot, pods: list[Container], nodes: list[int], objective: str
) -> float:
    """A batch's fitness, container by container in plain numbers."""
    ground = policy.ground(seen, np.arange(len(seen.capacity)))
    used = ground.used.copy()
    free = (seen.allocatable - seen.requested)[:, ground.columns].astype(float)
    mu, nu, score = policy.mu(ground), policy.nu(ground), 0.0
    for pod, node in zip(pods, nodes, strict=True):
        want, total = policy.request(ground, pod), ground.total[node]
        kind, parts, room = int(policy.kinds(ground, pod)[node]), 0.0, True
        for r in range(len(want)):
            left = total[r] - used[node, r]
            load = (want[r] + used[node, r]) / total[r] if total[r] > 0 else 1.0
            room &= want[r] == 0 or (want[r] <= left and want[r] <= free[node, r])
            room &= policy.tcrit_mode != "hard" or load <= policy.tcrit
            share = want[r] / left if want[r] and left > 0 else 0.0
            parts += mu[kind, r] * (1 - share) + nu[r] * (policy.tcrit - load)
            if policy.tcrit_mode == "penalty":
                parts -= 10 * max(load - policy.tcrit, 0.0)
        if not room:
            score -= 10.0
            continue
        score += parts if objective != "imbalance" else 0.0
        used[node] += want
        free[node] -= want
    if objective != "score":
        shares = np.divide(used, ground.total, out=np.zeros(used.shape), where=ground.total > 0)
        uneven = [math.sqrt(sum((row - row.mean()) ** 2)) for row in shares]
        score -= 100 * sum(uneven) / len(uneven)
    return score


@settings(max_examples=60)
@given(
    some.integers(0, 2**32),
    some.sampled_from(["score", "imbalance", "score+z"]),
    some.sampled_from(["soft", "hard", "penalty"]),
    some.sampled_from([FOUR, FOUR[:2]]),
)
def test_batches_are_judged_as_plain_loops_say(
    seed: int, objective: str, mode: str, resources: tuple[str, ...]
) -> None:
    rng = np.random.default_rng(seed)
    nodes, size, wide = int(rng.integers(1, 6)), int(rng.integers(1, 6)), len(resources)
    total = rng.integers(0, 100, (nodes, wide))
    taken = np.minimum(rng.integers(0, 60, (nodes, wide)), total)
    used = rng.random((2, nodes, 2))
    seen = cluster(total, taken, used=used, resources=resources)
    pods = [waiting(*rng.integers(0, 30, wide)) for _ in range(size)]
    policy = fitness_policy(f"tbesk_exact[tcrit_mode={mode},type_ref=mean]")
    judged = BatchFitness(policy, seen, Batch(containers=tuple(pods)), objective)
    proposals = rng.integers(0, nodes, (7, size))
    fitness, _ = judged.fitness(proposals)
    expected = [plain_fitness(policy, seen, pods, row, objective) for row in proposals.tolist()]
    assert fitness == pytest.approx(expected, abs=1e-9)


@settings(max_examples=40)
@given(some.integers(0, 2**32))
def test_one_container_scores_as_in_a_batch_of_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    total = rng.integers(1, 100, (5, 4))
    seen = cluster(total, np.minimum(rng.integers(0, 60, (5, 4)), total))
    pod, policy = waiting(*rng.integers(0, 30, 4)), fitness_policy()
    fitness, placed = BatchFitness(policy, seen, Batch(containers=(pod,))).fitness(
        np.arange(5)[:, None]
    )
    admitted = policy.admits(seen, pod, np.arange(5))
    assert placed[:, 0].tolist() == admitted.tolist()
    assert fitness[admitted] == pytest.approx(policy.score(seen, pod, np.arange(5))[admitted])


def small(**given: Any) -> Any:
    load = Paper000(containers=60, nodes=6, target_alloc_fraction=0.4, **given)
    return load.drawn(np.random.default_rng(1))


@pytest.mark.parametrize("name", SEARCHING)
def test_a_search_places_all_and_repeats_itself(name: str) -> None:
    load = small()
    policy = parse_policy(f"{name}[iterations=5]")
    first, again = (
        Engine(load, policy, np.random.default_rng(2)).run().node.tolist() for _ in range(2)
    )
    assert first == again
    assert min(first) >= 0


def test_a_search_of_one_container_with_time_finds_the_exact_node() -> None:
    policy = parse_policy("tbesk[iterations=200,patience=0,population=60,basis=requests]")
    assert isinstance(policy, BatchPolicy)
    seen, pod = golden(), waiting(*POD)
    rng = np.random.default_rng(0)
    assert policy.select(seen, Batch(containers=(pod,)), rng).tolist() == [0]


def test_the_exact_policy_is_no_worse_than_the_search_per_container() -> None:
    load = small(arrival_span_ms=0)
    exact = parse_policy("tbesk_exact[basis=requests]")
    search = parse_policy("tbesk[basis=requests,batch_size=1,iterations=3]")

    def first_scores(policy: Any) -> float:
        state_nodes = Engine(load, policy, np.random.default_rng(3)).run().node
        empty = cluster(load.capacity, np.zeros_like(load.capacity), resources=load.resources)
        first = Container(
            id="c", service="s", request=load.request[0], nonzero_request=load.request[0],
            limit=load.request[0],
        )  # fmt: skip
        scores = fitness_policy().score(empty, first, np.arange(load.nodes))
        return float(scores[state_nodes[0]])

    assert first_scores(exact) >= first_scores(search)


@pytest.mark.parametrize("name", ["tbesk", "tbesk_exact"])
def test_with_nothing_feasible_all_wait(name: str) -> None:
    load = small()
    huge = Paper000(containers=5, nodes=1, target_alloc_fraction=1.0).drawn(
        np.random.default_rng(0)
    )
    tight = parse_policy(f"{name}[tcrit=0,tcrit_mode=hard]")
    assert (Engine(load, tight, np.random.default_rng(0)).run().node == -1).all()
    one = Engine(huge, parse_policy(name), np.random.default_rng(0)).run()
    assert set(one.node.tolist()) <= {0, -1}


def test_node_order_changes_the_search_and_not_what_is_possible() -> None:
    load = small()
    nodes = [
        Engine(load, parse_policy(f"tbesk[iterations=2,node_order={order}]"),
               np.random.default_rng(0)).run().node.tolist()
        for order in (0, 1)
    ]  # fmt: skip
    assert nodes[0] != nodes[1]


def test_batches_end_with_the_sampling_step_and_hold_no_more_than_asked() -> None:
    load = small(arrival_span_ms=60_000, step_ms=10_000)
    policy: Any = parse_policy("tbesk[batch_size=7,iterations=1]")
    sizes: list[tuple[int, int]] = []
    plain = type(policy).select

    def select(self: Any, seen: Snapshot, batch: Batch, rng: np.random.Generator) -> Any:
        sizes.append((seen.time_ms, len(batch.containers)))
        return plain(self, seen, batch, rng)

    watched = type("Watched", (type(policy),), {"select": select})
    outcome = Engine(load, watched(batch_size=7, iterations=1), np.random.default_rng(0)).run()
    assert sum(size for _, size in sizes) == load.containers
    assert max(size for _, size in sizes) == 7
    assert len(outcome.latencies_s) == load.containers
    for index, placed in enumerate(outcome.time_ms.tolist()):
        arrival = int(load.arrival_ms[index])
        assert arrival <= placed
        assert (placed - 1) // load.step_ms <= arrival // load.step_ms
