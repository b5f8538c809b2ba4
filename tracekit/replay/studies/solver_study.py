"""Quality against decision time of searches, a greedy method, local search and an integer program.

All methods place the same batches on clusters filled to several degrees. ``BatchFitness`` judges
the node numbers that they return. The integer program finds the optimum.
"""

import itertools
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray, IntArray, stream
from tracekit.base.progress import SILENT, Progress
from tracekit.base.study import Study
from tracekit.cluster.named import Paper000
from tracekit.cluster.source import drawn_workload
from tracekit.policy.parse import get_policy, parse_policy
from tracekit.policy.placement import Batch
from tracekit.policy.placement._parts.batch_fitness import NO_ROOM
from tracekit.policy.placement._parts.fitness import FitnessPolicy
from tracekit.policy.placement._parts.searching import BatchFitness, SearchingPolicy
from tracekit.policy.placement.baselines import FirstFitDecreasing
from tracekit.policy.search.searches import all_searches
from tracekit.policy.view.snapshot import Snapshot
from tracekit.replay.engine.placer import PlainPlacer
from tracekit.replay.engine.state import ReplayState
from tracekit.replay.studies import SolverStudy

#: The time limit of the integer program; a result at the limit is not proven to be the optimum.
_LIMIT_S = 60.0


def greedy(judged: BatchFitness, size: int, nodes: int) -> IntArray:
    """Place each container in turn on the node with the best fitness so far; ties to the first.

    Return the node of each container, shape (size,).
    """
    chosen = np.zeros(size, dtype=np.int64)
    for at in range(size):
        proposals = np.repeat(chosen[None, :], nodes, axis=0)
        proposals[:, at] = np.arange(nodes)
        fitness, _ = judged.first(at + 1).fitness(proposals[:, : at + 1])
        chosen[at] = int(np.argmax(np.round(fitness, 12)))
    return chosen


def local_search(judged: BatchFitness, start: IntArray, nodes: int, rounds: int) -> IntArray:
    """Improve a placement by moves and swaps of containers, and return the node of each container.

    Each round applies the one with the best fitness. The search ends after ``rounds`` rounds, or
    when none improves the fitness. ``start`` has the first node of each container, below ``nodes``.
    """
    chosen = start.copy()
    best = float(judged.fitness(chosen[None, :])[0][0])
    for _ in range(rounds):
        proposals = np.concatenate([_moves(chosen, nodes), _swaps(chosen)])
        fitness, _ = judged.fitness(proposals)
        at = int(np.argmax(fitness))
        if fitness[at] <= best + 1e-12:
            break
        chosen, best = proposals[at].copy(), float(fitness[at])
    return chosen


def _moves(chosen: IntArray, nodes: int) -> IntArray:
    size = len(chosen)
    moved = np.repeat(chosen[None, :], size * nodes, axis=0)
    moved[np.arange(size * nodes), np.repeat(np.arange(size), nodes)] = np.tile(
        np.arange(nodes), size
    )
    return moved


def _swaps(chosen: IntArray) -> IntArray:
    pairs = [
        (one, other)
        for one, other in itertools.combinations(range(len(chosen)), 2)
        if chosen[one] != chosen[other]
    ]
    swapped = np.repeat(chosen[None, :], len(pairs), axis=0)
    for row, (one, other) in enumerate(pairs):
        swapped[row, [one, other]] = chosen[[other, one]]
    return swapped


def best_possible(policy: FitnessPolicy, snapshot: Snapshot, batch: Batch) -> tuple[IntArray, bool]:
    """Return the optimal node numbers by an integer program, and whether the optimum is proven.

    The program has a column for each node and each set of containers on it, with the exact fitness
    of that set. Each node takes at most one set, and each container is in one set or is left out.
    Fitness adds up over nodes, so the program is exact and no relaxation. HiGHS solves it.

    Returns
    -------
    int64, shape (batch,), -1 for a container that is left out; bool
    """
    size, nodes = len(batch.containers), len(snapshot.capacity)
    sets, values = [], []
    for members in _subsets(size):
        part = BatchFitness(policy, snapshot, _part(batch, members))
        together = np.repeat(np.arange(nodes)[:, None], len(members), axis=1)
        fitness, placed = part.fitness(together)
        for node in np.flatnonzero(placed.all(axis=1)).tolist():
            sets.append((node, members))
            values.append(float(fitness[node]))
    return _solve(sets, np.array(values), size, nodes)


def _subsets(size: int) -> list[list[int]]:
    return [
        list(members)
        for count in range(1, size + 1)
        for members in itertools.combinations(range(size), count)
    ]


def _part(batch: Batch, members: list[int]) -> Batch:
    shut = batch.open_nodes
    return Batch(
        containers=tuple(batch.containers[at] for at in members),
        open_nodes=None if shut is None else shut[members],
    )


def _solve(
    sets: list[tuple[int, list[int]]],
    values: FloatArray,
    size: int,
    nodes: int,
) -> tuple[IntArray, bool]:
    if not sets:
        return np.full(size, -1, dtype=np.int64), True
    from scipy import optimize, sparse  # noqa: PLC0415 - slow to import

    rows = [row for node, members in sets for row in (*members, size + node)]
    columns = [at for at, (_, members) in enumerate(sets) for _ in range(len(members) + 1)]
    shape = (size + nodes, len(sets) + size)
    slack = range(len(sets), len(sets) + size)
    matrix = sparse.csr_array(
        (np.ones(len(rows) + size), ([*rows, *range(size)], [*columns, *slack])), shape=shape
    )
    low = np.concatenate([np.ones(size), np.zeros(nodes)])
    solution = optimize.milp(
        -np.concatenate([values, np.full(size, -NO_ROOM)]),
        constraints=optimize.LinearConstraint(matrix, low, 1),
        integrality=np.ones(shape[1]),
        bounds=optimize.Bounds(0, 1),
        options={"time_limit": _LIMIT_S},
    )
    chosen = np.full(size, -1, dtype=np.int64)
    if solution.x is not None:
        for at in np.flatnonzero(solution.x[: len(sets)] > 0.5).tolist():
            node, members = sets[at]
            chosen[members] = node
    return chosen, bool(solution.status == 0)


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
    """Place batches of containers by several methods, and compare them with the optimum.

    Returns
    -------
    Study
        Frame ``quality``: method, iterations (0 for methods without), mean and worst gap to the
        optimum, share of batches with the optimum, and mean decision time. Times are wall-clock
        times and differ from run to run.
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
    """Fitness of node numbers; a container that was left out counts as one without room."""
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
    load = drawn_workload(
        Paper000(seed=study.seed, nodes=study.nodes, containers=study.containers),
        stream(study.seed, "workload"),
        "arrival_span_ms=0",
    )
    policy: Any = parse_policy("tbesk_exact[basis=requests]")
    state = ReplayState(load, policy)
    placer = PlainPlacer(state, stream(study.seed, NAME), time.perf_counter)
    tasks, done = [], 0
    for at in range(study.batches):
        upto = load.containers.count * at // study.batches
        some = np.arange(done, upto)
        placer.place(some, load.containers.arrival_ms[some])
        done = upto
        waiting = range(upto, min(upto + study.batch_size, load.containers.count))
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
