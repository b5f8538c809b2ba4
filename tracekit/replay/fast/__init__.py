"""The fast engine: the decisions of the plain placer at a small part of its cost.

Three exact methods exist. A policy gets the fastest one that it allows:

- search: for a policy whose compiled kernel can bound the score over a box of node states. A k-d
  tree holds the nodes; leaves that cannot contain the best node are not scored.
- scan: for a policy whose kernel has no bound. Compiled code scores every node with room.
- rows: for every other policy. Its numpy scores are cached for each shape of container and computed
  again only for nodes that changed.
"""

from typing import NamedTuple

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.cluster.workload import Workload


class ShapeTable(NamedTuple):
    """The shapes of a workload: containers with equal requests and limits share a shape.

    Parameters
    ----------
    of : int64, shape (containers,)
        The shape of each container, numbered in the order of their first containers.
    first : int64, shape (shapes,)
        The first container of each shape.
    asks : int64, shape (shapes, 4, resources)
        Four rows for each shape: stated limits, requests, requests with defaults for missing ones,
        and limits raised to the request.
    """

    of: IntArray
    first: IntArray
    asks: IntArray


def shapes_of(load: Workload) -> ShapeTable:
    """Return the distinct combinations of requests and limits that a workload's containers have."""
    amounts = (load.containers.limit, load.containers.request, load.containers.nonzero_request)
    code = np.zeros(load.containers.count, dtype=np.int64)
    for column in (part[:, at] for part in amounts for at in range(part.shape[1])):
        values, inverse = np.unique(column, return_inverse=True)
        if len(values) > 1:
            code = np.unique(code * len(values) + inverse, return_inverse=True)[1]
    _, first, code = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    first = first[order]
    limit = np.maximum(load.containers.limit, load.containers.request)
    rows = (*amounts, limit)
    return ShapeTable(rank[code], first, np.stack([part[first] for part in rows], axis=1))
