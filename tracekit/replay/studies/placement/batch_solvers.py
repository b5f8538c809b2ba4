"""Other ways to place a batch by the same fitness: greedy, local search, and an integer program.

All of them return node numbers of a batch; how good these are is told by ``BatchFitness`` alone.
"""

import itertools

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.policy.placement._parts.batch import Batch
from tracekit.policy.placement._parts.batch_fitness import NO_ROOM
from tracekit.policy.placement._parts.fitness import FitnessPolicy
from tracekit.policy.placement._parts.searching import BatchFitness
from tracekit.policy.view.snapshot import Snapshot

#: The integer program stops here; what it has found by then is not proven to be the best.
_LIMIT_S = 60.0


def greedy(judged: BatchFitness, size: int, nodes: int) -> IntArray:
    """Each container in turn where the batch so far is best; ties to the first node."""
    chosen = np.zeros(size, dtype=np.int64)
    for at in range(size):
        proposals = np.repeat(chosen[None, :], nodes, axis=0)
        proposals[:, at] = np.arange(nodes)
        fitness, _ = judged.first(at + 1).fitness(proposals[:, : at + 1])
        chosen[at] = int(np.argmax(np.round(fitness, 12)))
    return chosen


def local_search(judged: BatchFitness, start: IntArray, nodes: int, rounds: int) -> IntArray:
    """Move one container, or let two change places, whatever gains most, until nothing gains."""
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
    """The best node numbers there are, by an integer program; and whether that is proven.

    One column per node and set of containers on it, whose value is computed exactly: each node
    takes at most one set, each container is in one set or finds no room. Fitness adds up over
    nodes, so this is the problem itself and no relaxation. Solved by HiGHS.

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
    found = optimize.milp(
        -np.concatenate([values, np.full(size, -NO_ROOM)]),
        constraints=optimize.LinearConstraint(matrix, low, 1),
        integrality=np.ones(shape[1]),
        bounds=optimize.Bounds(0, 1),
        options={"time_limit": _LIMIT_S},
    )
    chosen = np.full(size, -1, dtype=np.int64)
    if found.x is not None:
        for at in np.flatnonzero(found.x[: len(sets)] > 0.5).tolist():
            node, members = sets[at]
            chosen[members] = node
    return chosen, bool(found.status == 0)
