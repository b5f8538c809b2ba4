"""How many nodes a set of containers needs at least: by volume, and by linear programming.

The program groups containers by request (shape q, d_q of them) and nodes by capacity (type t, n_t
of them). With y_t nodes opened and x_tq containers placed, both of any size between the integers:

    least sum y_t, where  sum_t x_tq = d_q,  sum_q request_qr x_tq <= capacity_tr y_t,
                          x_tq <= fit_tq y_t,  y_t <= n_t

fit_tq is how many of a shape an empty node takes. Every placement that respects requests is one of
its solutions, so its least sum, rounded up, is a lower bound, and at least the volume bound.

x_tq <= fit_tq y_t is a row for each pair of a shape and a type, and most of the cost. A program of
many pairs is solved without these rows: it has more solutions, so its least sum is a lower bound
too, a weaker one.
"""

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.cluster.resources import UNLIMITED

#: Pairs of a shape and a type up to which the program has all its rows: 0.1 to 0.8 s at the limit,
#: and about four times as long for twice as many.
LARGEST_WHOLE = 5_000

#: Pairs up to which it is solved without a row for each: 0.3 to 0.9 s at the limit, as long as a
#: replay of a workload with so few pairs takes. The volume bound stands beyond.
LARGEST_PROGRAM = 25_000

# What the solver may be off by; a bound must not be rounded up past the truth.
_TOLERANCE = 1e-6


def volume_bound(request: IntArray, capacity: IntArray) -> int:
    """The number of the largest nodes whose capacity adds up to the requests, per resource.

    Parameters
    ----------
    request : int64, shape (containers, resources)
    capacity : int64, shape (nodes, resources)

    Returns
    -------
    int
        At most the number of nodes, also where the requests exceed them all.
    """
    return int(volume_bounds(request.sum(axis=0)[None], capacity)[0])


def volume_bounds(requested: IntArray, capacity: IntArray) -> IntArray:
    """The volume bound for each row of sums of requests, shape (rows, resources)."""
    needed = np.zeros(len(requested), dtype=np.int64)
    for column in range(capacity.shape[1]):
        room = np.cumsum(np.sort(capacity[:, column])[::-1].astype(np.float64))
        asked = requested[:, column]
        needed = np.maximum(needed, np.searchsorted(room, asked) + (asked > 0))
    return np.minimum(needed, len(capacity))


def linear_bound(request: IntArray, capacity: IntArray) -> int | None:
    """The bound of the linear program above; None where the program would be too large.

    Where no placement has room for all, the number of nodes: more there are not.
    """
    shapes, demand = _grouped(request)
    types, there = _grouped(capacity)
    if not len(shapes):
        return 0
    if len(shapes) * len(types) > LARGEST_PROGRAM:
        return None
    least = _solved(shapes, demand, types, there)
    return len(capacity) if least is None else int(np.ceil(least - _TOLERANCE))


def _grouped(rows: IntArray) -> tuple[IntArray, IntArray]:
    if not len(rows):
        return rows, np.empty(0, dtype=np.int64)
    groups, counts = np.unique(rows, axis=0, return_counts=True)
    return groups, counts


def fit_counts(shapes: IntArray, types: IntArray) -> IntArray:
    """How many containers of each shape an empty node of each type takes, (types, shapes).

    A shape that asks for nothing fits ``UNLIMITED`` times.
    """
    most = np.full((len(types), len(shapes)), UNLIMITED, dtype=np.int64)
    for column in range(shapes.shape[1]):
        asked = shapes[:, column]
        times = types[:, column][:, None] // np.maximum(asked, 1)[None, :]
        most = np.where(asked > 0, np.minimum(most, times), most)
    return most


def _solved(shapes: IntArray, demand: IntArray, types: IntArray, there: IntArray) -> float | None:
    """Least sum of opened nodes; None when no solution exists."""
    from scipy import sparse  # noqa: PLC0415 - slow to import, and most replays need no program
    from scipy.optimize import linprog  # noqa: PLC0415

    whole = len(shapes) * len(types) <= LARGEST_WHOLE
    fit = np.minimum(fit_counts(shapes, types), demand)
    kind, shape = np.nonzero(fit)
    pairs = np.arange(len(kind))
    width = len(kind) + len(types)
    all_placed = sparse.csr_matrix(
        (np.ones(len(pairs)), (shape, pairs)), shape=(len(shapes), width)
    )
    rows = [
        *([_one_by_one(fit, width)] if whole else []),
        *_room(shapes, types, kind, shape, width),
    ]
    limits = sparse.vstack(rows) if rows else sparse.csr_matrix((0, width))
    upper = np.concatenate([np.full(len(pairs), np.inf), there.astype(np.float64)])
    result = linprog(
        c=np.concatenate([np.zeros(len(pairs)), np.ones(len(types))]),
        A_ub=limits,
        b_ub=np.zeros(limits.shape[0]),
        A_eq=all_placed,
        b_eq=demand.astype(np.float64),
        bounds=np.stack([np.zeros(width), upper], axis=1),
        # few rows and many columns: the interior point method takes a third of the simplex's time
        method="highs" if whole else "highs-ipm",
    )
    return float(result.fun) if result.status == 0 else _without_solution(result)


def _without_solution(result: object) -> float | None:
    """None where the program is proven to have none; 0, which bounds nothing, where it is not."""
    return None if getattr(result, "status", None) == 2 else 0.0


def _one_by_one(fit: IntArray, width: int) -> object:
    """Per pair: no more containers of a shape than fit into the opened nodes, each by itself."""
    from scipy import sparse  # noqa: PLC0415

    kind, shape = np.nonzero(fit)
    pairs = np.arange(len(kind))
    values = np.concatenate([np.ones(len(pairs)), -fit[kind, shape].astype(np.float64)])
    where = (np.tile(pairs, 2), np.concatenate([pairs, len(pairs) + kind]))
    return sparse.csr_matrix((values, where), shape=(len(pairs), width))


def _room(
    shapes: IntArray, types: IntArray, kind: IntArray, shape: IntArray, width: int
) -> list[object]:
    """Per limited resource: requests of a type's containers within its opened nodes."""
    from scipy import sparse  # noqa: PLC0415

    rows: list[object] = []
    pairs, opened = np.arange(len(kind)), len(kind) + np.arange(len(types))
    for column in range(types.shape[1]):
        capacity = types[:, column].astype(np.float64)
        if not shapes[:, column].any() or (types[:, column] >= UNLIMITED).all():
            continue
        scale = np.maximum(capacity, 1.0)
        values = np.concatenate([shapes[shape, column] / scale[kind], -capacity / scale])
        where = (np.concatenate([kind, np.arange(len(types))]), np.concatenate([pairs, opened]))
        rows.append(sparse.csr_matrix((values, where), shape=(len(types), width)))
    return rows
