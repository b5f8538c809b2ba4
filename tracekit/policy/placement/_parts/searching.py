"""Placement of a batch by a population search over node numbers.

Source: Geng and Wang 2023, section 3: a candidate is a vector of node numbers, one component for
each container of the batch. The distance of node numbers means nothing; ``node_order`` shuffles
them.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.policy.placement import Batch, BatchPolicy
from tracekit.policy.placement._parts.fitness import PENALTY, FitnessPolicy, Ground, within
from tracekit.policy.search.problem import CompiledCost, Problem
from tracekit.policy.search.running import Search
from tracekit.policy.view.snapshot import Snapshot

if TYPE_CHECKING:
    from tracekit.policy.placement._parts.batch_fitness import Case

#: The weight of the mean imbalance of nodes in an objective.
IMBALANCE_WEIGHT = 100.0


def decode(position: FloatArray, nodes: int) -> IntArray:
    """Return the node numbers of a position: its whole parts, clipped to 0 .. nodes - 1."""
    return np.asarray(within(position, nodes)).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class SearchingPolicy(FitnessPolicy, BatchPolicy):
    """Base of the policies that choose nodes for a batch by a population search, a ``Search``."""

    objective: Annotated[
        Literal["score", "imbalance", "score+z"],
        About("The objective of a batch: summed fitness, imbalance after placing, or both."),
    ] = "score"
    node_order: Annotated[
        int, About("Seed of the order of nodes in the search; 0: the given order.", minimum=0)
    ] = 0

    def select(self, snapshot: Snapshot, batch: Batch, rng: np.random.Generator) -> IntArray:
        """Return the nodes of the best proposal found; -1 for a container without room there."""
        judged = BatchFitness(self, snapshot, batch, self.objective)
        nodes, size = len(snapshot.capacity), len(batch.containers)
        order = self._order(nodes)
        problem = Problem(
            lower=np.zeros(size),
            upper=np.full(size, float(nodes)),
            cost=lambda positions: -judged.fitness(order[decode(positions, nodes)])[0],
            compiled=judged.compiled_cost(order),
        )
        assert isinstance(self, Search)  # noqa: S101 - every policy of this kind is one
        chosen = order[decode(self.minimize(problem, rng).position, nodes)]
        _, placed = judged.fitness(chosen[None, :])
        return np.where(placed[0], chosen, -1)

    def _order(self, nodes: int) -> IntArray:
        if not self.node_order:
            return np.arange(nodes)
        return np.random.default_rng(self.node_order).permutation(nodes)


class BatchFitness:
    """Computes the fitness of proposals: each proposes one node for each container of a batch."""

    #: The weights of fitness and of imbalance in each objective.
    weights: ClassVar[dict[str, tuple[float, float]]] = {
        "score": (1.0, 0.0),
        "imbalance": (0.0, IMBALANCE_WEIGHT),
        "score+z": (1.0, IMBALANCE_WEIGHT),
    }

    def __init__(
        self, policy: FitnessPolicy, snapshot: Snapshot, batch: Batch, objective: str = "score"
    ) -> None:
        from tracekit.policy.placement._parts import batch_fitness  # noqa: PLC0415 - numba is slow to import

        self._judge, self._compiled_cost = batch_fitness.judge, batch_fitness.compiled_cost
        nodes = np.arange(len(snapshot.capacity))
        ground = policy.ground(snapshot, nodes)
        columns = list(ground.columns)
        free = (snapshot.allocatable - snapshot.requested)[:, columns]
        modes = {
            "soft": batch_fitness.SOFT,
            "hard": batch_fitness.HARD,
            "penalty": batch_fitness.PENALTY,
        }
        shut = batch.open_nodes
        rules = [modes[policy.tcrit_mode], PENALTY, *self.weights[objective]]
        case = batch_fitness.Case(
            request=np.stack([policy.request(ground, one) for one in batch.containers]),
            kinds=_kinds(policy, ground, batch),
            open_nodes=np.empty((0, len(nodes)), np.bool_) if shut is None else shut,
            free=free.astype(np.float64),
            ground=np.stack([ground.total, ground.used, ground.peak]),
            mu=policy.mu(ground),
            loads=np.stack([policy.nu(ground), policy.critical(ground)]),
            rules=np.array(rules, dtype=np.float64),
            alone=np.full((len(batch.containers), len(nodes)), batch_fitness.UNKNOWN),
        )
        # compiled code needs contiguous arrays, and a user's own policy may give others
        laid: Any = (np.require(one, requirements=["C", "W"]) for one in case)
        self._case = batch_fitness.Case(*laid)

    def first(self, count: int) -> BatchFitness:
        """Return the fitness of a batch of only the first ``count`` containers."""
        case = self._case
        return self._of(
            case._replace(
                request=case.request[:count],
                kinds=case.kinds[:count],
                open_nodes=case.open_nodes[:count],
                alone=case.alone[:count],
            )
        )

    def without(self, left_out: BoolArray) -> BatchFitness:
        """Return the fitness with all nodes closed to the containers marked in ``left_out``."""
        shut = self._case.open_nodes
        every = np.ones((len(left_out), len(self._case.free)), np.bool_) if not len(shut) else shut
        left, unknown = every & ~left_out[:, None], np.full_like(self._case.alone, np.inf)
        return self._of(self._case._replace(open_nodes=left, alone=unknown))

    def _of(self, case: Case) -> BatchFitness:
        other = copy.copy(self)
        vars(other)["_case"] = case
        return other

    def fitness(self, nodes: IntArray) -> tuple[FloatArray, BoolArray]:
        """Return the fitness of each proposal, and which of its containers have room.

        Parameters
        ----------
        nodes : int64, shape (proposals, batch)

        Returns
        -------
        float64, shape (proposals,), and bool, shape (proposals, batch)
        """
        return self._judge(nodes, self._case)

    def compiled_cost(self, order: IntArray) -> CompiledCost:
        """Return the cost of a search's positions, minus their fitness, for compiled code.

        ``order[i]`` is the node that a component x of a position means if i <= x < i + 1.
        """
        return self._compiled_cost(order, self._case)


def _kinds(policy: FitnessPolicy, ground: Ground, batch: Batch) -> IntArray:
    """The kinds of a batch's containers, shape (batch, nodes), computed once for equal requests."""
    requests = [one.request.tobytes() for one in batch.containers]
    rows = dict(zip(requests, batch.containers, strict=True))
    kinds = {key: policy.kinds(ground, one) for key, one in rows.items()}
    return np.stack([kinds[key] for key in requests])
