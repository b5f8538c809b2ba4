"""A population: positions, their costs, and the best so far."""

from typing import Annotated, Literal

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.parameters import About
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


# First positions: uniform, or by the tent map. Source of the tent start: Geng and Wang 2023, eq
# 13. With the printed slope of 2 every orbit of doubles is 0 after some 53 steps, for each step
# shifts out one bit; hence the slope below 2.

Start = Annotated[
    Literal["uniform", "tent", "tent_perturbed", "tent_exact"],
    About("First positions: uniform, or by the tent map."),
]

#: A slope at which orbits of doubles do not die.
SLOPE = 1.9999999


def start(how: Start, problem: Problem, rows: int, rng: np.random.Generator) -> FloatArray:
    """First positions, shape (rows, dimensions), inside the box."""
    if how == "uniform":
        shares = rng.random((rows, problem.dimensions))
    else:
        shares = tent_rows(how, rows, rng.random(problem.dimensions), rng)
    return problem.lower + shares * (problem.upper - problem.lower)


def tent(share: float, slope: float = SLOPE) -> float:
    """One step of the tent map, of a number 0..1."""
    return slope * (share if share <= 0.5 else 1.0 - share)


def tent_rows(how: Start, rows: int, first: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The first iterates of one orbit per dimension, shape (rows, dimensions), in 0..1.

    Parameters
    ----------
    how : {'tent', 'tent_perturbed', 'tent_exact'}
        By a slope below 2; by slope 2 with a random part of ``1 / rows``; by slope 2 as printed.
    first : float64, shape (dimensions,)
        Where each orbit begins; it is no row itself. One that comes to 0, 1 or the fixed point
        begins anew, but for 'tent_exact'.
    """
    # orbits are few: number by number is quicker than array by array
    found, share = [], first.tolist()
    for _ in range(rows):
        share = _next(how, share, rows, rng)
        found.append(share)
    return np.array(found).reshape(rows, len(first))


def _next(how: Start, share: list[float], rows: int, rng: np.random.Generator) -> list[float]:
    if how == "tent_exact":
        return [tent(one, 2.0) for one in share]
    if how == "tent_perturbed":
        draws = rng.random(len(share)).tolist()
        return [
            (tent(one, 2.0) + draw / rows) % 1.0 for one, draw in zip(share, draws, strict=True)
        ]
    while True:
        following = [tent(one) for one in share]
        stuck = [_stuck(one, then) for one, then in zip(share, following, strict=True)]
        if not any(stuck):
            return following
        draws = rng.random(len(share)).tolist()
        share = [draws[at] if stuck[at] else one for at, one in enumerate(share)]


def _stuck(share: float, following: float) -> bool:
    """Whether an orbit has come to 0, 1 or the fixed point."""
    return following <= 0 or following >= 1 or following == share


# Mutation by Student's t: wide steps at first, close to normal ones later. Source: Geng and Wang
# 2023, eqs 15 and 29; the same form is in their rivals' papers. The step is proportional to the
# position, so that a component at the anchor never moves: with the anchor of the source, the
# origin, every search that uses it favours optima that lie there.

Anchor = Annotated[
    Literal["origin", "centre"], About("What a mutation is proportional to the distance from.")
]


def t_mutation(
    positions: FloatArray,
    iteration: int,
    problem: Problem,
    rng: np.random.Generator,
    *,
    anchor: Anchor = "origin",
) -> FloatArray:
    """``x + (x - anchor) * t``, t drawn per component with ``iteration`` degrees of freedom.

    Parameters
    ----------
    positions : float64, shape (candidates, dimensions)
    iteration : int
        From 1 on.
    """
    fixed = 0.0 if anchor == "origin" else (problem.lower + problem.upper) / 2
    return np.asarray(positions + (positions - fixed) * rng.standard_t(iteration, positions.shape))
