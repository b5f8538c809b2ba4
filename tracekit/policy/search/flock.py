"""The population of a search: positions, their costs, and the best position so far.

The functions work on arrays number by number, so that numba compiles them (``running.py``). All
arrays are written in place.
"""

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About

Anchor = Annotated[
    Literal["origin", "centre"], About("The point from which the distance scales a mutation.")
]


#: Positions in ``Flock.tally``: evaluated positions so far, and whether a cost failed.
EVALUATIONS, FAILED = range(2)


class Flock(NamedTuple):
    """The state of a running search: its candidates, their costs, and the best position so far.

    Parameters
    ----------
    positions : float64, shape (candidates, dimensions)
    costs : float64, shape (candidates,)
    best : float64, shape (dimensions,)
    best_cost : float64, shape (1,)
    tally : int64, shape (2,)
        At ``EVALUATIONS`` the number of evaluated positions; at ``FAILED`` not 0 if a cost failed.
    everybody : int64, shape (candidates,)
        The row numbers of all candidates: 0, 1, 2 and so on.
    proposed : float64, shape (candidates, dimensions)
        Positions to which candidates may move; a search fills the first rows.
    proposed_costs : float64, shape (candidates,)
    box : float64, shape (2, dimensions)
        The lower and the upper bounds.
    more : float64, shape (arrays, candidates, dimensions)
        Further arrays of a search, 0 at first.
    cost : function(proposed, count, given, costs) -> int
        Writes the costs of the first ``count`` proposed rows to ``costs``. It returns 0, or another
        number if a cost fails; it raises no error.
    given : tuple
        The third argument of ``cost``.
    """

    positions: FloatArray
    costs: FloatArray
    best: FloatArray
    best_cost: FloatArray
    tally: IntArray
    everybody: IntArray
    proposed: FloatArray
    proposed_costs: FloatArray
    box: FloatArray
    more: FloatArray
    cost: Any
    given: Any


class Tools(NamedTuple):
    """Functions of this module that compiled searches share and call through a pointer.

    Compiled into each search anew, they would take longer to compile than the search itself.
    """

    propose: Callable[[Flock, IntArray], None]
    mutate: Callable[[FloatArray, FloatArray, int, bool, Any, FloatArray], None]
    arrange: Callable[[Flock, IntArray], None]
    shuffle: Callable[[IntArray, Any], None]


def propose(flock: Flock, rows: IntArray) -> None:
    """Move each candidate whose proposed position has a lower cost than its present position.

    Proposed positions are first clipped to the box; NaN, from an overflow, becomes the lower bound.
    If a cost has failed, nothing moves.

    Parameters
    ----------
    rows : int64, shape (proposed,)
        The candidate of each proposed position: ``rows[0]`` is that of ``flock.proposed[0]``.
    """
    count, proposed, proposed_costs = len(rows), flock.proposed, flock.proposed_costs
    positions, costs, tally = flock.positions, flock.costs, flock.tally
    if not count or tally[FAILED]:
        return
    _clip(proposed, count, flock.box)
    tally[EVALUATIONS] += count
    tally[FAILED] = flock.cost(proposed, count, flock.given, proposed_costs)
    if tally[FAILED]:
        _note_failed(flock, count)
        return
    for row in range(count):
        own = rows[row]
        if proposed_costs[row] < costs[own]:
            costs[own] = proposed_costs[row]
            put_row(proposed, row, positions, own)
            if costs[own] < flock.best_cost[0]:
                flock.best_cost[0] = costs[own]
                for at in range(proposed.shape[1]):
                    flock.best[at] = proposed[row, at]


def _clip(proposed: FloatArray, count: int, box: FloatArray) -> None:
    """Clip the first rows to the box; NaN becomes the lower bound."""
    for row in range(count):
        for at in range(proposed.shape[1]):
            value = proposed[row, at]
            if not value >= box[0, at]:
                proposed[row, at] = box[0, at]
            elif value > box[1, at]:
                proposed[row, at] = box[1, at]


def _note_failed(flock: Flock, count: int) -> None:
    """Set the best position of a failed search to the first position with a cost of NaN."""
    for row in range(count):
        if math.isnan(flock.proposed_costs[row]):
            for at in range(flock.proposed.shape[1]):
                flock.best[at] = flock.proposed[row, at]
            return


def arrange(flock: Flock, order: IntArray) -> None:
    """Reorder candidates: row i becomes the former row ``order[i]``; overwrites ``proposed``."""
    positions, costs, before = flock.positions, flock.costs, flock.proposed_costs
    copy_rows(positions, flock.proposed)
    for row in range(len(order)):
        before[row] = costs[row]
    for row in range(len(order)):
        costs[row] = before[order[row]]
        put_row(flock.proposed, order[row], positions, row)


def put_row(values: FloatArray, row: int, into: FloatArray, own: int) -> None:
    """Copy row ``row`` of ``values`` to row ``own`` of ``into``, faster than a slice does."""
    for at in range(values.shape[1]):
        into[own, at] = values[row, at]


def copy_rows(values: FloatArray, into: FloatArray) -> None:
    """Copy all rows."""
    for row in range(values.shape[0]):
        put_row(values, row, into, row)


def draw(out: FloatArray, rng: Any) -> None:
    """Fill an array, shape (candidates, dimensions), with uniform random numbers."""
    for row in range(out.shape[0]):
        for at in range(out.shape[1]):
            out[row, at] = rng.random()


def mutate(
    positions: FloatArray,
    box: FloatArray,
    degrees: int,
    centred: bool,
    rng: Any,
    out: FloatArray,
) -> None:
    """Write ``x + (x - anchor) * t`` for all positions, with t drawn for each coordinate.

    Mutation by Student's t has wide steps at first and nearly normal steps later. Source: Geng and
    Wang 2023, eqs 15 and 29; the papers of the other searches have the same form. A coordinate at
    the anchor never moves. The anchor of the source is the origin, so a search with it favours
    optima at the origin.

    Parameters
    ----------
    positions, out : float64, shape (candidates, dimensions)
        May be the same array.
    degrees : int
        Degrees of freedom of t: the iteration, from 1 on.
    centred : bool
        Whether the anchor is the middle of the box; otherwise it is the origin.
    """
    anchor = 0.0
    for row in range(positions.shape[0]):
        for at in range(positions.shape[1]):
            own = positions[row, at]
            if centred:
                anchor = (box[0, at] + box[1, at]) / 2
            out[row, at] = own + (own - anchor) * rng.standard_t(degrees)


# Functions that numba compiles slowly; ``running.py`` replaces them in compiled code.


def shuffle(order: IntArray, rng: Any) -> None:
    """Write a random permutation of 0, 1, ... ``len(order) - 1`` to ``order``."""
    order[:] = rng.permutation(len(order))


def coin(rng: Any) -> int:
    """Return 0 or 1 with equal probability."""
    return int(rng.integers(0, 2))


# First positions: uniform, or by the tent map.
#
# Source of the tent start: Geng and Wang 2023, eq 13. With the printed slope of 2 every orbit of
# doubles is 0 after some 53 steps, as each step shifts out one bit; the slope is therefore below 2.

_Start = Literal["uniform", "tent", "tent_perturbed", "tent_exact"]
Start = Annotated[_Start, About("First positions: uniform, or by the tent map.")]

#: The names as numbers, for compiled code.
STARTS: tuple[str, ...] = get_args(_Start)
UNIFORM, TENT, PERTURBED, EXACT = range(4)

#: A slope at which orbits of doubles do not become 0.
SLOPE = 1.9999999


def first_positions(how: int, box: FloatArray, rng: Any, out: FloatArray) -> None:
    """Write the first positions of all candidates: uniform in the box, or by the tent map.

    Parameters
    ----------
    how : int
        An index into ``STARTS``.
    box : float64, shape (2, dimensions)
    out : float64, shape (candidates, dimensions)
    """
    if how == UNIFORM:
        draw(out, rng)
    else:
        first = np.empty(out.shape[1])
        for at in range(len(first)):
            first[at] = rng.random()
        tent_rows(how, first, out, rng)
    for row in range(out.shape[0]):
        for at in range(out.shape[1]):
            out[row, at] = box[0, at] + out[row, at] * (box[1, at] - box[0, at])


def tent(share: float, slope: float) -> float:
    """Return the number that the tent map gives for ``share``, a number in 0..1."""
    return slope * (share if share <= 0.5 else 1.0 - share)


def tent_rows(how: int, first: FloatArray, out: FloatArray, rng: Any) -> None:
    """Write the first numbers of a tent map sequence to each column of ``out``, all in 0..1.

    Parameters
    ----------
    how : int
        ``TENT``: a slope just below 2; ``PERTURBED``: slope 2, and a random number up to ``1 /
        rows`` is added; ``EXACT``: slope 2 as the source prints it.
    first : float64, shape (dimensions,)
        The number before the first row, for each column; overwritten. With ``TENT`` a sequence gets
        a new random number before it would reach 0, 1 or the fixed point.
    out : float64, shape (rows, dimensions)
    """
    share, slope = first, SLOPE if how == TENT else 2.0
    for row in range(len(out)):
        if how == TENT:
            _keep_alive(share, rng)
        for at in range(len(share)):
            following = tent(share[at], slope)
            if how == PERTURBED:
                following = (following + rng.random() / len(out)) % 1.0
            share[at] = out[row, at] = following


def _keep_alive(share: FloatArray, rng: Any) -> None:
    """Draw a new start for each orbit whose next step is 0, 1 or the fixed point."""
    waiting = True
    while waiting:
        waiting = False
        for at in range(len(share)):
            waiting = waiting or _stuck(share[at])
        if waiting:
            for at in range(len(share)):
                # the number of draws does not depend on which orbits are stuck
                draw = rng.random()
                share[at] = draw if _stuck(share[at]) else share[at]


def _stuck(share: float) -> bool:
    """Whether the next step of an orbit is 0, 1 or the fixed point."""
    following = tent(share, SLOPE)
    return following <= 0 or following >= 1 or following == share
