"""Room on nodes: the amount of each resource for requests, and which containers still fit.

Free room is of use to a container only if the node has enough of every resource that it requests.
The lost part is measured over the shapes of the workload's own containers: for a node and a
resource, the share of containers that request the resource, would fit on the empty node, and do not
fit now. Source: Weng et al., "Beware of Fragmentation", USENIX ATC 2023.
"""

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.cluster.resources import UNLIMITED, short_names
from tracekit.cluster.workload import Workload

#: Of more shapes than this so many containers stand for all.
MOST_SHAPES = 256
#: Pairs of a node and a shape that are looked at at once.
_AT_ONCE = 2**20


class Room:
    """Computes which containers still fit on each node of a workload, and caches the result.

    Attributes
    ----------
    columns : tuple of int
        The measured resources, as columns of the workload: see ``measured_columns``.
    names : tuple of str
        Their short names.
    capacity : float64, shape (measured, nodes)
        The amount for requests; 0 if the node does not have the resource, or has no limit.
    has_capacity : bool, shape (measured, nodes)
        Whether the capacity is above 0.
    """

    def __init__(self, load: Workload) -> None:
        self.columns = measured_columns(load)
        self.names = measured_names(load)
        limited = np.where(load.nodes.allocatable < UNLIMITED, load.nodes.allocatable, 0)
        self.capacity = limited.T[list(self.columns)].astype(np.float64)
        self.has_capacity = self.capacity > 0
        self._whole = load.nodes.allocatable
        shapes, count = typical_shapes(_placed_by_policies(load))
        self._shapes = shapes
        # who asks for a resource, by shape: what is free of it is of use to nobody else
        self._asking = (shapes[:, list(self.columns)] > 0) * count[:, None].astype(np.float64)
        self._fit_empty, self._any_empty = self._fitting(load.nodes.allocatable)
        self._seen = np.full(load.nodes.allocatable.shape, -1, dtype=np.int64)
        self._closed = np.zeros((len(self.columns), load.nodes.count))
        self._full = np.zeros(load.nodes.count, dtype=np.bool_)

    def nodes_with(self, column: int) -> IntArray:
        """Return positions of the nodes that have a measured resource."""
        return np.flatnonzero(self.capacity[self.columns.index(column)])

    def capacity_of(self, column: int) -> FloatArray:
        """Return the capacities of the nodes that have a measured resource, in node order."""
        return np.asarray(self.capacity[self.columns.index(column), self.nodes_with(column)])

    def lost_shares(self, requested: IntArray) -> tuple[FloatArray, BoolArray]:
        """Return which share of typical containers no longer fits on each node, and the full nodes.

        Parameters
        ----------
        requested : int64, shape (stretches, nodes, resources), at least one
            Requests on each node in each stretch, a time without moves.

        Returns
        -------
        float64, shape (stretches, measured resources, nodes)
            Of the typical containers that request the resource and fit on the empty node, the share
            that no longer fits; 0 where there are none.
        bool, shape (stretches, nodes)
            Nodes on which no typical container fits any more, although one fits on the empty node.
        """
        nodes = requested.shape[1]
        before = np.concatenate([self._seen[None], requested[:-1]])
        at, node = np.nonzero((requested != before).any(axis=-1))
        closed, full = self._lost_shares_of(node, requested[at, node])
        # which look at a node is the latest: of those before these stretches, or of these
        latest = np.zeros(requested.shape[:2], dtype=np.int64)
        latest[0] = np.arange(nodes)
        latest[at, node] = nodes + np.arange(len(at))
        latest = np.maximum.accumulate(latest, axis=0)
        every = np.concatenate([self._closed, closed], axis=1)[:, latest].transpose(1, 0, 2)
        every_full = np.concatenate([self._full, full])[latest]
        self._seen = requested[-1].copy()
        self._closed, self._full = every[-1].copy(), every_full[-1].copy()
        return np.ascontiguousarray(every), every_full

    def _lost_shares_of(self, nodes: IntArray, requested: IntArray) -> tuple[FloatArray, BoolArray]:
        """The values of ``lost_shares`` for some nodes with these requests."""
        fit, some = self._fitting(self._whole[nodes] - requested)
        before = self._fit_empty[nodes]
        share = np.divide(fit, before, out=np.ones_like(fit), where=before > 0)
        return 1.0 - share.T, self._any_empty[nodes] & ~some

    def _fitting(self, free: IntArray) -> tuple[FloatArray, BoolArray]:
        """The number of typical containers that fit and request each resource; whether any fits."""
        counts = np.zeros((len(free), len(self.columns)))
        some = np.zeros(len(free), dtype=np.bool_)
        each = max(_AT_ONCE // max(len(self._shapes), 1), 1)
        for start in range(0, len(free), each):
            part = slice(start, start + each)
            fits = np.ones((len(free[part]), len(self._shapes)), dtype=np.bool_)
            for room, wanted in zip(free[part].T, self._shapes.T, strict=True):
                fits &= (room[:, None] >= wanted) | (wanted == 0)
            counts[part] = fits @ self._asking
            some[part] = fits.any(axis=1)
        return counts, some


def measured_columns(load: Workload) -> tuple[int, ...]:
    """Return the positions of the resources that are measured, in the order of the workload.

    These are CPU, memory, and each other resource that containers request or whose use is recorded,
    if some node has a limited amount of it.
    """
    limited = ((load.nodes.capacity > 0) & (load.nodes.capacity < UNLIMITED)).any(axis=0)
    wanted = np.array((load.containers.request > 0).any(axis=0))
    wanted[list(load.use.further_resources)] = True
    counted = limited & wanted
    return (0, 1, *(at for at in np.flatnonzero(counted).tolist() if at > 1))


def measured_names(load: Workload) -> tuple[str, ...]:
    """Return the short names of the resources in ``measured_columns``, such as ``cpu``."""
    return tuple(short_names([load.resources[at] for at in measured_columns(load)]))


def typical_shapes(request: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct requests of containers, and the number of containers with each.

    If there are more than ``MOST_SHAPES``, that many containers represent all: those at even
    distances in order of size, from the smallest to the largest. The size is the mean over
    resources of request over largest request.

    Returns
    -------
    int64, shape (shapes, resources), and int64, shape (shapes,)
    """
    shapes, count = np.unique(request, axis=0, return_counts=True)
    if len(shapes) <= MOST_SHAPES:
        return shapes, count
    size = (shapes / np.maximum(shapes.max(axis=0), 1)).mean(axis=1)
    order = np.argsort(size, kind="stable")
    last = np.cumsum(count[order])
    at = np.round(np.linspace(0, last[-1] - 1, MOST_SHAPES)).astype(np.int64)
    return np.unique(
        shapes[order[np.searchsorted(last, at, side="right")]], axis=0, return_counts=True
    )


def _placed_by_policies(load: Workload) -> IntArray:
    """Requests of the containers that are no daemons."""
    return (
        load.containers.request
        if load.rules.daemon is None
        else load.containers.request[~load.rules.daemon]
    )
