"""What counts as use of a further resource: recorded use, else what is requested.

This is the one place that says so. A workload that records the use of some further resources has it
in ``further_usage``; of a container whose use of one is not known there, as of every container of
any other further resource, what it requests counts as used.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.cluster.resources import UNLIMITED
from tracekit.cluster.workload import Workload

#: Numbers that are added up at once, about.
_AT_ONCE = 2**18


def further_use(
    load: Workload, column: int, steps: range, containers: NDArray[np.integer[Any]]
) -> FloatArray:
    """Use of a further resource by the containers at these positions, shape (steps, some).

    Parameters
    ----------
    column : int
        One of ``load.further_used``.
    """
    assert load.use.further is not None  # noqa: S101 - the column is one of those recorded
    recorded = load.use.further[load.use.further_resources.index(column), steps.start : steps.stop]
    use = recorded.take(load.use.columns_of(containers), axis=1).astype(np.float64)
    asked = load.containers.request[containers, column].astype(np.float64)
    return np.asarray(np.where(np.isnan(use), asked, use))


def further_on(
    load: Workload,
    column: int,
    steps: range,
    containers: NDArray[np.integer[Any]],
    node: NDArray[np.integer[Any]],
) -> FloatArray:
    """The same added up on the node of each, in the order of arrival, shape (steps, nodes)."""
    found = np.zeros((len(steps), load.nodes.count))
    each = max(_AT_ONCE // max(load.nodes.count, len(containers), 1), 1)
    for start in range(0, len(steps), each):
        some = steps[start : start + each]
        where = (node + load.nodes.count * np.arange(len(some))[:, None]).ravel()
        use = further_use(load, column, some, containers).ravel()
        added = np.bincount(where, use, len(some) * load.nodes.count)
        found[start : start + each] = added.reshape(len(some), load.nodes.count)
    return found


def having(load: Workload, column: int) -> IntArray:
    """Positions of the nodes that have a resource, and no end of it."""
    there = (load.nodes.capacity[:, column] > 0) & (load.nodes.capacity[:, column] < UNLIMITED)
    return np.flatnonzero(there)
