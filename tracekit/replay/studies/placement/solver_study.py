"""Quality against decision time: searches, greedy, local search and integer program side by side.

Each places the same batches by the same fitness, on clusters filled to several degrees; the integer
program tells the best there is.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.base.progress import SILENT, Progress
from tracekit.base.seeds import stream
from tracekit.base.study import Study
from tracekit.cluster.loaders.paper000 import Paper000
from tracekit.policy.parse import get_policy, parse_policy
from tracekit.policy.placement._parts.batch import Batch
from tracekit.policy.placement._parts.fitness import FitnessPolicy
from tracekit.policy.placement._parts.searching import BatchFitness, SearchingPolicy
from tracekit.policy.placement.first_fit_decreasing import FirstFitDecreasing
from tracekit.policy.search.searches import all_searches
from tracekit.policy.view.snapshot import Snapshot
from tracekit.replay.engine.placer import PlainPlacer
from tracekit.replay.engine.state import ReplayState
from tracekit.replay.studies.placement.batch_solvers import best_possible, greedy, local_search
from tracekit.replay.studies.placement.declared import SolverStudy

NAME = "search_solvers"
_BUDGETS = (2, 5, 10, 20, 50, 100, 200)
_ROUNDS = 1000


@dataclass(frozen=True)
class _Task:
    """A batch on a filled cluster."""

    snapshot: Snapshot
    batch: Batch
    policy: FitnessPolicy

    @property
    def nodes(self) -> int:
        return len(self.snapshot.capacity)

    def judged(self) -> BatchFitness:
        return BatchFitness(self.policy, self.snapshot, self.batch)


Method = Callable[[_Task, np.random.Generator], IntArray]


def study_solvers(study: SolverStudy | None = None, *, progress: Progress = SILENT) -> Study:
    """Run the study.

    Returns
    -------
    Study
        Frame ``quality``: method, iterations (0 where it has none), mean and worst gap to the best
        there is, share of batches where it reached that, and mean decision time; times are by the
        wall clock and differ from run to run.
    """
    study = study or SolverStudy()
    tasks = _tasks(study)
    methods = _methods()
    rows: list[dict[str, Any]] = []
    with progress.task("batches", len(tasks), "batches") as shown:
        for number, task in enumerate(tasks):
            judged = task.judged()
            began = time.perf_counter()
            best, proven = best_possible(task.policy, task.snapshot, task.batch)
            spent = time.perf_counter() - began
            top = _worth(judged, best)
            rows.append(_row("integer_program", 0, number, 0.0, spent) | {"proven": proven})
            for (name, iterations), method in methods.items():
                rng = stream(study.seed, f"{name}/{iterations}/{number}")
                began = time.perf_counter()
                chosen = method(task, rng)
                spent = time.perf_counter() - began
                gap = top - _worth(judged, chosen)
                rows.append(_row(name, iterations, number, gap, spent) | {"proven": proven})
            shown.advance(1)
    frame = pl.DataFrame(rows)
    return Study(
        name=NAME,
        about={**asdict(study), "proven": bool(frame["proven"].all())},
        frames={"quality": _quality(frame)},
    )


def _methods() -> dict[tuple[str, int], Method]:
    methods: dict[tuple[str, int], Method] = {
        ("greedy", 0): _greedy,
        ("local_search", 0): _local,
        ("first_fit_decreasing", 0): _decreasing,
    }
    for name in all_searches():
        for iterations in _BUDGETS:
            methods[name, iterations] = _search(name, iterations)
    return methods


def _greedy(task: _Task, rng: np.random.Generator) -> IntArray:  # noqa: ARG001 - one signature
    return greedy(task.judged(), len(task.batch.containers), task.nodes)


def _local(task: _Task, rng: np.random.Generator) -> IntArray:
    start = greedy(task.judged(), len(task.batch.containers), task.nodes)
    _ = rng
    return local_search(task.judged(), start, task.nodes, _ROUNDS)


def _decreasing(task: _Task, rng: np.random.Generator) -> IntArray:
    return FirstFitDecreasing().select(task.snapshot, task.batch, rng)


def _search(name: str, iterations: int) -> Method:
    kind: Any = get_policy(name)
    policy: SearchingPolicy = kind(basis="requests", iterations=iterations, patience=0)

    def method(task: _Task, rng: np.random.Generator) -> IntArray:
        return policy.select(task.snapshot, task.batch, rng)

    return method


def _worth(judged: BatchFitness, chosen: IntArray) -> float:
    """Fitness of node numbers; a container that was left out is proposed where it finds no room."""
    if (chosen >= 0).all():
        return float(judged.fitness(chosen[None, :])[0][0])
    return float(judged.without(chosen < 0).fitness(np.maximum(chosen, 0)[None, :])[0][0])


def _row(method: str, iterations: int, batch: int, gap: float, spent_s: float) -> dict[str, Any]:
    return {
        "method": method,
        "iterations": iterations,
        "batch": batch,
        "gap": gap,
        "decision_ms": 1000 * spent_s,
    }


def _quality(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.group_by("method", "iterations", maintain_order=True).agg(
        pl.col("gap").mean().alias("gap_mean"),
        pl.col("gap").max().alias("gap_worst"),
        (pl.col("gap") <= 1e-9).mean().alias("best_share"),
        pl.col("decision_ms").mean(),
    )


def _tasks(study: SolverStudy) -> list[_Task]:
    load = Paper000(
        seed=study.seed, nodes=study.nodes, containers=study.containers, arrival_span_ms=0
    ).drawn(stream(study.seed, "workload"))
    policy: Any = parse_policy("tbesk_exact[basis=requests]")
    state = ReplayState(load, policy)
    placer = PlainPlacer(state, stream(study.seed, NAME), time.perf_counter)
    tasks, done = [], 0
    for at in range(study.batches):
        upto = load.containers * at // study.batches
        some = np.arange(done, upto)
        placer.place(some, load.arrival_ms[some])
        done = upto
        waiting = range(upto, min(upto + study.batch_size, load.containers))
        snapshot = state.snapshot(0)
        frozen = replace(
            snapshot,
            requested=snapshot.requested.copy(),
            nonzero_requested=snapshot.nonzero_requested.copy(),
            limits=snapshot.limits.copy(),
            containers=snapshot.containers.copy(),
        )
        batch = Batch(containers=tuple(state.container(index) for index in waiting))
        tasks.append(_Task(frozen, batch, policy))
    return tasks
