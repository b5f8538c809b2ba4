"""Batches placed by a search: judged as plain loops say, repeatable, and no better than exact."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import waiting
from tbesk_support import FOUR, GOLDEN, POD, cluster, fitness_policy, golden, small

from tracekit.base.errors import TracekitError
from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import Batch, BatchPolicy
from tracekit.policy.placement._parts.fitness import FitnessPolicy
from tracekit.policy.placement._parts.searching import BatchFitness, decode
from tracekit.policy.placement._parts.weights import BALANCED, COMPRESSIBLE, INCOMPRESSIBLE
from tracekit.policy.search.problem import Problem
from tracekit.policy.search.searches import all_searches, get_search
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.snapshot import Container, Snapshot
from tracekit.policy.view.usage import SeriesUsage
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import decide

SEARCHING = ["bes", "tbesk", "tpso", "tsbo", "tssa"]


def plain_fitness(
    policy: FitnessPolicy, seen: Snapshot, pods: list[Container], nodes: list[int], objective: str
) -> float:
    """A batch's fitness, container by container in plain numbers."""
    ground = policy.ground(seen, np.arange(len(seen.capacity)))
    used, peak = ground.used.copy(), ground.peak.copy()
    critical = policy.critical(ground)
    free = (seen.allocatable - seen.requested)[:, ground.columns].astype(float)
    mu, nu, score = policy.mu(ground), policy.nu(ground), 0.0
    for pod, node in zip(pods, nodes, strict=True):
        want, total = policy.request(ground, pod), ground.total[node]
        kind, parts, room = int(policy.kinds(ground, pod)[node]), 0.0, True
        for r in range(len(want)):
            left = total[r] - used[node, r]
            load = (want[r] + peak[node, r]) / total[r] if total[r] > 0 else 1.0
            room &= want[r] == 0 or (want[r] <= left and want[r] <= free[node, r])
            room &= policy.tcrit_mode != "hard" or load <= critical[r]
            share = want[r] / left if want[r] and left > 0 else 0.0
            parts += mu[kind, r] * (1 - share) + nu[r] * (critical[r] - load)
            if policy.tcrit_mode == "penalty":
                parts -= 10 * max(load - critical[r], 0.0)
        if not room:
            score -= 10.0
            continue
        score += parts if objective != "imbalance" else 0.0
        used[node] += want
        peak[node] += want
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
    some.sampled_from(
        ["", ",critical_loads=cpu:0.3+net:0.6,left_weights=cpu:3+memory:1,left_basis=requests"]
    ),
)
def test_batches_are_judged_as_plain_loops_say(
    seed: int, objective: str, mode: str, resources: tuple[str, ...], apart: str
) -> None:
    rng = np.random.default_rng(seed)
    nodes, size, wide = int(rng.integers(1, 6)), int(rng.integers(1, 6)), len(resources)
    total = rng.integers(0, 100, (nodes, wide))
    taken = np.minimum(rng.integers(0, 60, (nodes, wide)), total)
    used = rng.random((2, nodes, 2))
    seen = cluster(total, taken, used=used, resources=resources)
    pods = [waiting(*rng.integers(0, 30, wide)) for _ in range(size)]
    policy = fitness_policy(f"tbesk_exact[tcrit_mode={mode},type_ref=mean{apart}]")
    judged = BatchFitness(policy, seen, Batch(containers=tuple(pods)), objective)
    proposals = rng.integers(0, nodes, (7, size))
    fitness, _ = judged.fitness(proposals)
    expected = [plain_fitness(policy, seen, pods, row, objective) for row in proposals.tolist()]
    assert fitness == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", sorted(all_searches()))
@pytest.mark.parametrize("seed", range(6))
def test_compiled_searches_find_what_they_find_by_a_plain_cost(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes, size = int(rng.integers(1, 30)), int(rng.integers(1, 9))
    total = rng.integers(20, 100, (nodes, 4))
    taken = np.minimum(rng.integers(0, 60, (nodes, 4)), total)
    seen = cluster(total, taken, used=rng.random((2, nodes, 2)), resources=FOUR)
    pods = tuple(waiting(*rng.integers(0, 30, 4)) for _ in range(size))
    shut = rng.random((size, nodes)) < 0.8 if seed % 2 else None
    objective, mode = ("score", "imbalance", "score+z")[seed % 3], ("hard", "penalty")[seed % 2]
    policy = fitness_policy(f"tbesk_exact[tcrit_mode={mode}]")
    judged = BatchFitness(policy, seen, Batch(containers=pods, open_nodes=shut), objective)
    order, evaluated = rng.permutation(nodes), []

    def cost(positions: np.ndarray) -> np.ndarray:
        evaluated.append(positions)
        return np.array([-judged.fitness(order[decode(at, nodes)][None, :])[0][0]
                         for at in positions])  # fmt: skip

    plain = Problem(lower=np.zeros(size), upper=np.full(size, float(nodes)), cost=cost)
    at_once = dataclasses.replace(plain, compiled=judged.compiled_cost(order))
    search = get_search(name)(iterations=12, population=9, patience=seed)
    draws = [np.random.default_rng(seed), np.random.default_rng(seed)]
    one, other = search.minimize(plain, draws[0]), search.minimize(at_once, draws[1])
    assert one.position.tolist() == other.position.tolist()
    assert (one.cost, one.curve.tolist()) == (other.cost, other.curve.tolist())
    assert one.evaluations == other.evaluations == sum(map(len, evaluated))
    assert draws[0].random() == draws[1].random()


@pytest.mark.parametrize("name", all_searches())
def test_a_compiled_cost_that_is_no_number_is_refused(name: str) -> None:
    seen = cluster(np.full((6, 4), 50), np.zeros((6, 4), dtype=np.int64), resources=FOUR)
    policy = fitness_policy("tbesk_exact")
    pods = (waiting(1, 1, 1, 1), waiting(2, 2, 2, 2))
    judged = BatchFitness(policy, seen, Batch(containers=pods, open_nodes=None), "imbalance")
    # the score of one container on one node alone, which a weight of 0 then multiplies
    judged._case.alone[1, 3] = -math.inf

    def cost(positions: np.ndarray) -> np.ndarray:
        return -judged.fitness(decode(positions, 6))[0]

    problem = Problem(
        lower=np.zeros(2), upper=np.full(2, 6.0), cost=cost,
        compiled=judged.compiled_cost(np.arange(6)),
    )  # fmt: skip
    with pytest.raises(TracekitError, match="NaN"):
        get_search(name)(patience=0).minimize(problem, np.random.default_rng(0))


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


def test_node_order_changes_the_search_and_not_what_is_possible() -> None:
    load = small()
    nodes = [
        Engine(load, parse_policy(f"tbesk[iterations=2,node_order={order}]"),
               np.random.default_rng(0)).run().node.tolist()
        for order in (0, 1)
    ]  # fmt: skip
    assert nodes[0] != nodes[1]


# Which containers a policy that places several at once is asked about together.


def test_batches_end_with_the_sampling_step_and_hold_no_more_than_asked() -> None:
    load = small("arrival_span_ms=60000", "step_ms=10000")
    policy: Any = parse_policy("tbesk[batch_size=7,iterations=1]")
    sizes: list[tuple[int, int]] = []
    plain = type(policy).select

    def select(self: Any, seen: Snapshot, batch: Batch, rng: np.random.Generator) -> Any:
        sizes.append((seen.time_ms, len(batch.containers)))
        return plain(self, seen, batch, rng)

    watched = type("Watched", (type(policy),), {"select": select})
    outcome = Engine(load, watched(batch_size=7, iterations=1), np.random.default_rng(0)).run()
    assert sum(size for _, size in sizes) == load.containers.count
    assert max(size for _, size in sizes) == 7
    # the containers of a batch wait for its last one
    last = np.cumsum([size for _, size in sizes]) - 1
    assert load.containers.arrival_ms[last].tolist() == [now for now, _ in sizes]
    assert len(outcome.latencies_s) == load.containers.count
    for index, placed in enumerate(outcome.time_ms.tolist()):
        arrival = int(load.containers.arrival_ms[index])
        assert arrival <= placed
        assert (placed - 1) // load.use.step_ms <= arrival // load.use.step_ms


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
