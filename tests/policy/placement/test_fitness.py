"""The fitness of TBESK, by worked examples: weights, kinds of pods, what counts as used."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import waiting
from tbesk_support import FOUR, GOLDEN, POD, cluster, fitness_policy, golden

from tracekit.policy.placement import Batch
from tracekit.policy.placement._parts.searching import BatchFitness
from tracekit.policy.placement._parts.weights import BALANCED, COMPRESSIBLE, INCOMPRESSIBLE
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.usage import SeriesUsage
from tracekit.replay.engine.placer import decide


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
