"""The least number of nodes for a set of containers: by volume, and by linear programming.

The program groups containers by request (d_q containers of shape q) and nodes by capacity (n_t
nodes of type t). y_t is the number of nodes of type t in use, and x_tq the number of containers of
shape q on them; both may be fractions:

    least sum y_t, where  sum_t x_tq = d_q,  sum_q request_qr x_tq <= capacity_tr y_t,
                          x_tq <= fit_tq y_t,  y_t <= n_t

fit_tq is the number of containers of a shape that an empty node takes. Every placement that
respects requests is a solution of the program. So its optimum, rounded up, is a lower bound, and at
least as high as the volume bound.

The rows x_tq <= fit_tq y_t, one for each pair of a shape and a type, are most of the cost. A
program of many pairs is solved without them. It then has more solutions, so its optimum is still a
lower bound, but a weaker one.
"""

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.cluster.resources import UNLIMITED

#: Up to so many pairs of a shape and a type the program has all its rows. It takes 0.1 to 0.8 s at
#: this limit, and about four times as long for twice as many pairs.
LARGEST_WHOLE = 5_000

#: Up to so many pairs the program is solved without a row for each pair: 0.3 to 0.9 s at this
#: limit, about the time of one replay. Larger workloads have the volume bound alone.
LARGEST_PROGRAM = 25_000

# The error of the solver, subtracted before the optimum is rounded up.
_TOLERANCE = 1e-6


def volume_bound(request: IntArray, capacity: IntArray) -> int:
    """Return a lower bound on the nodes that hold all requests, from total amounts alone.

    For each resource, nodes are counted from the largest on, until they cover the summed requests.

    Parameters
    ----------
    request : int64, shape (containers, resources)
    capacity : int64, shape (nodes, resources)

    Returns
    -------
    int
        The count of the resource that needs most nodes, and at most the number of nodes.
    """
    return int(volume_bounds(request.sum(axis=0)[None], capacity)[0])


def volume_bounds(requested: IntArray, capacity: IntArray) -> IntArray:
    """Return ``volume_bound`` for each row of summed requests, int64, shape (rows,).

    ``requested`` has the shape (rows, resources), and ``capacity`` the shape (nodes, resources).
    """
    needed = np.zeros(len(requested), dtype=np.int64)
    for column in range(capacity.shape[1]):
        room = np.cumsum(np.sort(capacity[:, column])[::-1].astype(np.float64))
        amounts = requested[:, column]
        needed = np.maximum(needed, np.searchsorted(room, amounts) + (amounts > 0))
    return np.minimum(needed, len(capacity))


def linear_bound(request: IntArray, capacity: IntArray) -> int | None:
    """Return a lower bound on nodes by the linear program in the docstring of this module.

    The bound is None if the program is too large. It has a pair for each distinct request of
    containers and each distinct capacity of nodes, and may have ``LARGEST_PROGRAM`` pairs. If the
    program has no solution, the bound is the number of nodes.
    """
    shapes, demand = _grouped(request)
    types, nodes_of_type = _grouped(capacity)
    if not len(shapes):
        return 0
    if len(shapes) * len(types) > LARGEST_PROGRAM:
        return None
    least = _solved(shapes, demand, types, nodes_of_type)
    return len(capacity) if least is None else int(np.ceil(least - _TOLERANCE))


def _grouped(rows: IntArray) -> tuple[IntArray, IntArray]:
    if not len(rows):
        return rows, np.empty(0, dtype=np.int64)
    groups, counts = np.unique(rows, axis=0, return_counts=True)
    return groups, counts


def fit_counts(shapes: IntArray, types: IntArray) -> IntArray:
    """Return how many containers of each shape fit on an empty node of each type.

    A row of ``shapes`` has the requests of a container by resource, and a row of ``types`` has the
    capacities of a node. The result is int64 with the shape (types, shapes). It is ``UNLIMITED``
    for containers that request nothing.
    """
    most = np.full((len(types), len(shapes)), UNLIMITED, dtype=np.int64)
    for column in range(shapes.shape[1]):
        amounts = shapes[:, column]
        times = types[:, column][:, None] // np.maximum(amounts, 1)[None, :]
        most = np.where(amounts > 0, np.minimum(most, times), most)
    return most


def _solved(
    shapes: IntArray, demand: IntArray, types: IntArray, nodes_of_type: IntArray
) -> float | None:
    """The least sum of nodes in use; None where no solution exists."""
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
    upper = np.concatenate([np.full(len(pairs), np.inf), nodes_of_type.astype(np.float64)])
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
    """None where the program has proven that no solution exists; else 0, which bounds nothing."""
    return None if getattr(result, "status", None) == 2 else 0.0


def _one_by_one(fit: IntArray, width: int) -> object:
    """The rows x_tq <= fit_tq y_t, one for each pair of a type and a shape."""
    from scipy import sparse  # noqa: PLC0415

    kind, shape = np.nonzero(fit)
    pairs = np.arange(len(kind))
    values = np.concatenate([np.ones(len(pairs)), -fit[kind, shape].astype(np.float64)])
    where = (np.tile(pairs, 2), np.concatenate([pairs, len(pairs) + kind]))
    return sparse.csr_matrix((values, where), shape=(len(pairs), width))


def _room(
    shapes: IntArray, types: IntArray, kind: IntArray, shape: IntArray, width: int
) -> list[object]:
    """The rows that keep requests within the capacity of the nodes in use, for each resource."""
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
