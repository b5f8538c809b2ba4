"""A population: positions, their costs, and the best so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.optimize.problem import Problem

FloatArray = NDArray[np.float64]


class Flock:
    """Candidates that move only where it is better.

    Attributes
    ----------
    positions : float64, shape (candidates, dimensions)
    costs : float64, shape (candidates,)
    best : float64, shape (dimensions,)
    best_cost : float
    evaluations : int
        Positions evaluated so far.
    """

    def __init__(self, problem: Problem, positions: FloatArray) -> None:
        self.problem = problem
        self.positions = problem.clipped(positions)
        self.costs = problem.evaluate(self.positions)
        self.evaluations = len(positions)
        at = int(self.costs.argmin())
        self.best, self.best_cost = self.positions[at].copy(), float(self.costs[at])

    def propose(self, positions: FloatArray, rows: NDArray[np.int64] | None = None) -> None:
        """Move those candidates whose proposed position is better than their own.

        Parameters
        ----------
        positions : float64, shape (proposed, dimensions)
        rows : int64, shape (proposed,), optional
            Whose; None: everybody's.
        """
        inside = self.problem.clipped(positions)
        self.take(inside, self.evaluate(inside), rows)

    def evaluate(self, positions: FloatArray) -> FloatArray:
        """Costs of positions inside the box, counted."""
        self.evaluations += len(positions)
        return self.problem.evaluate(positions)

    def take(
        self, positions: FloatArray, costs: FloatArray, rows: NDArray[np.int64] | None = None
    ) -> None:
        """As ``propose``, of positions inside the box whose costs are known."""
        if rows is None:
            better = costs < self.costs
            np.copyto(self.positions, positions, where=better[:, None])
            np.copyto(self.costs, costs, where=better)
        else:
            better = costs < self.costs[rows]
            moved = rows[better]
            self.positions[moved], self.costs[moved] = positions[better], costs[better]
        at = int(self.costs.argmin())
        if self.costs[at] < self.best_cost:
            self.best, self.best_cost = self.positions[at].copy(), float(self.costs[at])

    def arrange(self, order: NDArray[np.int64]) -> None:
        """Put the candidates in another order."""
        self.positions, self.costs = self.positions[order], self.costs[order]
