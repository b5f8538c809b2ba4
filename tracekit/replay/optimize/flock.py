"""A population: positions, their costs, and the best so far."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.optimize.problem import Problem


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
        self._everybody = np.arange(len(positions))
        at = int(self.costs.argmin())
        self.best, self.best_cost = self.positions[at].copy(), float(self.costs[at])

    def propose(self, positions: FloatArray, rows: IntArray | None = None) -> None:
        """Move those candidates whose proposed position is better than their own.

        Parameters
        ----------
        positions : float64, shape (proposed, dimensions)
        rows : int64, shape (proposed,), optional
            Whose; None: everybody's.
        """
        move = self.problem.move
        if move is not None:
            whose = self._everybody if rows is None else rows
            at = move(positions, whose, self.positions, self.costs)
            if at >= 0:
                self.evaluations += len(positions)
                self._note(at)
                return
        inside = self.problem.clipped(positions)
        self.take(inside, self.evaluate(inside), rows)

    def evaluate(self, positions: FloatArray) -> FloatArray:
        """Costs of positions inside the box, counted."""
        self.evaluations += len(positions)
        return self.problem.evaluate(positions)

    def take(self, positions: FloatArray, costs: FloatArray, rows: IntArray | None = None) -> None:
        """As ``propose``, of positions inside the box whose costs are known."""
        if rows is None:
            better = costs < self.costs
            np.copyto(self.positions, positions, where=better[:, None])
            np.copyto(self.costs, costs, where=better)
        else:
            better = costs < self.costs[rows]
            moved = rows[better]
            self.positions[moved], self.costs[moved] = positions[better], costs[better]
        self._note(int(self.costs.argmin()))

    def _note(self, at: int) -> None:
        """Remember the candidate that costs least now, if none ever cost less."""
        if self.costs[at] < self.best_cost:
            self.best, self.best_cost = self.positions[at].copy(), float(self.costs[at])

    def arrange(self, order: IntArray) -> None:
        """Put the candidates in another order."""
        self.positions, self.costs = self.positions[order], self.costs[order]
