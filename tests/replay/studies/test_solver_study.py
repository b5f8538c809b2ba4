"""Quality against decision time: the integer program finds the best, and nothing passes it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tracekit.cluster.named import Paper000
from tracekit.cluster.source import drawn_workload
from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import Batch
from tracekit.policy.placement._parts.searching import BatchFitness
from tracekit.replay.engine.state import ReplayState
from tracekit.replay.studies import SolverStudy
from tracekit.replay.studies.solver_study import (
    best_possible,
    greedy,
    local_search,
    study_solvers,
)


def task(seed: int, size: int = 4, nodes: int = 3) -> tuple[Any, Any, Batch]:
    drawn = Paper000(containers=size, nodes=nodes, target_alloc_fraction=0.9)
    load = drawn_workload(drawn, np.random.default_rng(seed))
    policy: Any = parse_policy("tbesk_exact[basis=requests]")
    state = ReplayState(load, policy)
    batch = Batch(containers=tuple(state.container(at) for at in range(load.containers.count)))
    return policy, state.snapshot(0), batch


@pytest.mark.parametrize("seed", range(6))
def test_the_integer_program_equals_trying_all(seed: int) -> None:
    policy, snapshot, batch = task(seed)
    judged = BatchFitness(policy, snapshot, batch)
    every = np.array(list(itertools.product(range(3), repeat=4)))
    fitness, placed = judged.fitness(every)
    chosen, proven = best_possible(policy, snapshot, batch)
    assert proven
    if placed[np.argmax(fitness)].all():
        assert judged.fitness(chosen[None, :])[0][0] == pytest.approx(fitness.max())


@pytest.mark.parametrize("seed", range(4))
def test_local_search_is_between_greedy_and_the_best(seed: int) -> None:
    policy, snapshot, batch = task(seed, size=6, nodes=5)
    judged = BatchFitness(policy, snapshot, batch)
    first = greedy(judged, len(batch.containers), 5)
    better = local_search(judged, first, 5, rounds=100)
    chosen, _ = best_possible(policy, snapshot, batch)
    low, middle = (float(judged.fitness(one[None, :])[0][0]) for one in (first, better))
    assert low <= middle + 1e-12
    if (chosen >= 0).all():
        assert middle <= float(judged.fitness(chosen[None, :])[0][0]) + 1e-9


def test_with_no_room_at_all_everybody_is_left_out() -> None:
    policy, snapshot, batch = task(0)
    shut = Batch(containers=batch.containers, open_nodes=np.zeros((4, 3), np.bool_))
    chosen, proven = best_possible(policy, snapshot, shut)
    assert (chosen.tolist(), proven) == ([-1] * 4, True)


def test_nothing_passes_the_best() -> None:
    found = study_solvers(SolverStudy(batches=2, batch_size=4, containers=120, nodes=6))
    quality = found.frames["quality"]
    assert found.about["proven"]
    assert (quality["gap_mean"] >= -1e-9).all()
    assert {"integer_program", "greedy", "local_search", "first_fit_decreasing", "tbesk"} <= set(
        quality["method"]
    )
    assert (quality["decision_ms"] > 0).all()
