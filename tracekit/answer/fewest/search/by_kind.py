"""Fewer nodes, or cheaper ones, by how many of each kind stay.

Where nodes go in an order, the kinds of those that stay are left to the order. Where there are few
kinds, every choice of how many of each kind stay is weighed before a replay. Choices without room
for the load are left out. Bisection over the weight replays, of each weight, the three choices with
most room to spare.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.answer.fewest.search.least_nodes import keeps_requests
from tracekit.answer.fewest.search.trials import COST, LESS, Trials
from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.bounds.demand import volumes
from tracekit.replay.workload.changed.more_nodes import kinds_among

#: So many choices are weighed at most, and of one weight so many replayed.
_CHOICES, _OF_A_WEIGHT = 300_000, 3
#: So many of the lightest weights are asked about before bisection.
_LIGHTEST = 4


@dataclass(frozen=True)
class _Choices:
    """How many of each kind stay, one choice a row: the lightest first.

    Parameters
    ----------
    counts : int64, shape (choices, kinds)
    weight, spare : float64, shape (choices,)
        What the nodes count or cost, and the room beyond the load as a share of the load, of the
        resource of which that is least.
    """

    counts: IntArray
    weight: FloatArray
    spare: FloatArray


def lighter(
    tried: Trials,
    stay: IntArray,
    orders: Sequence[int],
    by: str,
) -> tuple[Trials, int] | None:
    """Fewer nodes than those that ``stay``, or cheaper ones; None where no choice holds.

    Returns
    -------
    Trials, int
        Replays in an order of which the first so many nodes are enough.
    """
    load, free = tried.load, np.flatnonzero(tried.open)
    kinds = kinds_among(load, free, tried.price if by == COST else None)
    sizes = np.array([len(kind) + 1 for kind in kinds])
    if len(kinds) < 2 or sizes.prod(dtype=np.float64) > _CHOICES:
        return None
    each = tried.price if by == COST else np.ones(load.nodes)
    choices = _choices(tried, kinds, each)
    below = choices.weight < each[stay].sum() * LESS
    levels = np.unique(choices.weight[below])

    def at(level: int) -> tuple[Trials, int] | None:
        """What holds of this weight, of the choices with most room."""
        here = np.flatnonzero(below & (choices.weight == levels[level]))
        roomy = here[np.argsort(-choices.spare[here], kind="stable")][:_OF_A_WEIGHT]
        replayed = (_replayed(tried, kinds, choices.counts[one], orders) for one in roomy)
        return next(filter(None, replayed), None)

    # what holds is not monotone in the weight, so that the lightest are asked about one by one
    low, high, best = min(_LIGHTEST, len(levels)), len(levels), None
    lightest = next(filter(None, map(at, range(low))), None)
    if lightest is not None:
        return lightest
    while low < high:
        middle = (low + high) // 2
        again = at(middle)
        if again is None:
            low = middle + 1
        else:
            high, best = middle, again
    return best


def _replayed(
    tried: Trials, kinds: Sequence[IntArray], counts: IntArray, orders: Sequence[int]
) -> tuple[Trials, int] | None:
    """The replays where so many of each kind stay, and on how many nodes; None if that breaks."""
    chosen = [kind[:count] for kind, count in zip(kinds, counts.tolist(), strict=True)]
    kept = np.concatenate([np.flatnonzero(tried.never), *chosen])
    others = np.setdiff1d(tried.place, kept)
    trial = tried.in_order(np.concatenate([kept, others]), "by_kind")
    return (trial, len(kept)) if trial.hold_all(len(kept), orders) else None


def _choices(tried: Trials, kinds: Sequence[IntArray], each: FloatArray) -> _Choices:
    """Every choice that has room for the load, as far as limits say what that is."""
    load, policy, limits, never = tried.load, tried.policy, tried.limits, tried.never
    grid = np.indices([len(kind) + 1 for kind in kinds]).reshape(len(kinds), -1).T
    fits = np.ones(len(grid), np.bool_)
    spare = np.full(len(grid), np.inf)
    waits = limits.nobody_waits(str(policy))
    asks = waits and keeps_requests(load, policy)
    for demand, rooms in volumes(load, limits.most_use(str(policy)))[: 2 if asks else 1]:
        most = demand.max(axis=0, initial=0).astype(np.float64)
        for column in np.flatnonzero(most > 0).tolist():
            room = rooms[:, column].astype(np.float64)
            there = grid @ np.array([room[kind[0]] for kind in kinds]) + room[never].sum()
            fits &= (there >= most[column]) | (not waits)
            spare = np.minimum(spare, there / most[column] - 1)
    weight = grid @ np.array([each[kind[0]] for kind in kinds]) + each[never].sum()
    order = np.flatnonzero(fits & (grid.sum(axis=1) > 0))
    return _Choices(grid[order], np.asarray(weight[order], np.float64), spare[order])
