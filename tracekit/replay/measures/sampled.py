"""The view of the cluster at some sampling steps, from which measures are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.cluster.resources import UNLIMITED
from tracekit.cluster.workload import Workload
from tracekit.replay.measures.room import Room

Positions = NDArray[np.integer[Any]]

#: The columns of resources whose use every workload knows; of others see ``view.further``.
USED = (0, 1)


class Stretch(NamedTuple):
    """Consecutive steps between which no container moved.

    Parameters
    ----------
    steps : int
        Their number.
    containers, nodes : integers, shape (running,)
        Positions of the containers that ran, and of the node of each.
    first : int
        The first of these steps, as a step of the workload.
    """

    steps: int
    containers: Positions
    nodes: Positions
    first: int


def requested_on(request: IntArray, containers: Positions, node: Positions, nodes: int) -> IntArray:
    """Return the sum of some containers' requests on each node, int64, shape (nodes, resources)."""
    counted = np.zeros((request.shape[1], nodes), dtype=np.int64)
    for column, sums in enumerate(counted):  # by one column numpy adds several times as fast
        np.add.at(sums, node, request[containers, column])
    return np.ascontiguousarray(counted.T)


@dataclass(frozen=True, kw_only=True)
class NodeContents:
    """The containers and requests on each node, in each stretch (a time without moves).

    Parameters
    ----------
    room : Room
        The room of the workload's nodes; it is shared by all samples.
    counted : int64, shape (stretches, nodes, resources), optional
        Requests by node, if they are added up already.
    """

    load: Workload
    stretches: Sequence[Stretch]
    room: Room
    counted: IntArray | None = None

    @cached_property
    def requested(self) -> IntArray:
        """Requests of the containers that run, shape (stretches, nodes, resources)."""
        if self.counted is not None:
            return self.counted
        request, nodes = self.load.containers.request, self.load.nodes.count
        each = (requested_on(request, one.containers, one.nodes, nodes) for one in self.stretches)
        return np.stack(list(each))

    @cached_property
    def taken(self) -> FloatArray:
        """Requests on each node in each stretch, shape (stretches, measured resources, nodes).

        0 where a node has none of a resource.
        """
        columns = self.requested.transpose(0, 2, 1)[:, list(self.room.columns)]
        return columns.astype(np.float64, order="C") * self.room.has_capacity

    @cached_property
    def free(self) -> FloatArray:
        """Capacity less requests, at least 0, shape (stretches, measured resources, nodes)."""
        return np.maximum(self.room.capacity - self.taken, 0.0)

    @cached_property
    def _closed(self) -> tuple[FloatArray, BoolArray]:
        return self.room.lost_shares(self.requested)

    @cached_property
    def lost_shares(self) -> FloatArray:
        """The share of typical containers that no longer fit on each node; see ``Room``.

        Shape (stretches, measured resources, nodes).
        """
        return self._closed[0]

    @cached_property
    def full(self) -> BoolArray:
        """Nodes where no container fits now, though one fits when empty, (stretches, nodes)."""
        return self._closed[1]

    @cached_property
    def containers(self) -> IntArray:
        """Number of running containers, shape (stretches, nodes)."""
        count = [np.bincount(one.nodes, minlength=self.load.nodes.count) for one in self.stretches]
        return np.stack(count)

    @cached_property
    def containers_but_daemons(self) -> IntArray:
        """Number of running containers that are no daemons, shape (stretches, nodes)."""
        daemon = self.load.rules.daemon
        if daemon is None:
            return self.containers
        count = [
            np.bincount(one.nodes[~daemon[one.containers]], minlength=self.load.nodes.count)
            for one in self.stretches
        ]
        return np.stack(count)


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """The view of the cluster at some sampling steps, from which measures are computed.

    This view has the use of CPU and memory. ``further`` gives a view for every further resource,
    with the nodes that have it. Use of a further resource is the recorded use, or the request if
    none is recorded.

    Parameters
    ----------
    stretches : sequence of Stretch
        The containers on each node; the stretches together are the sampled steps.
    fractions : float64, shape (steps, nodes, resources)
        Use over capacity, with background, of CPU and memory, or of the further resource.
    add_up : function() -> float64, shape (steps, nodes, resources)
        Computes the use in millicores and bytes.
    computed_contents : NodeContents, optional
        The value of ``contents``, if it is computed already.
    computed_by_resource : float64, shape (resources, steps, nodes), optional
        The value of ``by_resource``, if it is computed already.
    column : int, optional
        The resource of a view in ``further``, by its column; None in the view of CPU and memory.
    """

    load: Workload
    stretches: Sequence[Stretch]
    fractions: FloatArray
    add_up: Callable[[], FloatArray]
    computed_contents: NodeContents | None = None
    computed_by_resource: FloatArray | None = None
    column: int | None = None

    @cached_property
    def used(self) -> FloatArray:
        """Use in millicores and bytes, shape (steps, nodes, resources)."""
        return self.add_up()

    @cached_property
    def capacity(self) -> FloatArray:
        """Capacity in millicores and bytes, shape (nodes, resources)."""
        if self.column is None:
            return self.load.nodes.capacity[:, list(USED)].astype(np.float64)
        if self.of_every_step:
            return self._whole(self.column)
        return self.contents.room.capacity_of(self.column)[:, None]

    @cached_property
    def by_resource(self) -> FloatArray:
        """Use over capacity with the resource first, shape (resources, steps, nodes).

        Sums along the last axis are equal to the last bit for any number of steps.
        """
        if self.computed_by_resource is not None:
            return self.computed_by_resource
        return np.ascontiguousarray(self.fractions.transpose(2, 0, 1))

    @cached_property
    def of_all(self) -> FloatArray:
        """Use over capacity of every measured resource, shape (measured resources, steps, nodes).

        NaN where a node lacks the resource, as a node without GPUs does.
        """
        fractions = np.full((len(self.contents.room.columns), *self.by_resource.shape[1:]), np.nan)
        fractions[list(USED)] = self.by_resource
        for at, view in enumerate(self.further, start=len(USED)):
            column = self.contents.room.columns[at]
            if view.of_every_step:
                fractions[at][:, having(self.load, column)] = view.by_resource[0]
            else:
                nodes = self.contents.room.nodes_with(column)
                fractions[at][:, nodes] = self.at_steps(view.by_resource[0])
        return fractions

    @cached_property
    def overloaded(self) -> BoolArray:
        """Nodes that use more of some resource than they have, shape (steps, nodes).

        A further resource counts only if its use is recorded; requests of it overload no node.
        """
        over = np.asarray((self.by_resource > 1.0).any(axis=0))
        for view in self.further if self.column is None else ():
            if view.of_every_step and view.column is not None:
                over[:, having(self.load, view.column)] |= view.by_resource[0] > 1.0
        return over

    @cached_property
    def contents(self) -> NodeContents:
        """The containers and requests on nodes in each stretch."""
        if self.computed_contents is not None:
            return self.computed_contents
        return NodeContents(load=self.load, stretches=self.stretches, room=Room(self.load))

    @cached_property
    def containers(self) -> IntArray:
        """Number of running containers, shape (steps, nodes)."""
        return self.at_steps(self.contents.containers)

    @cached_property
    def containers_but_daemons(self) -> IntArray:
        """Number of running containers that are no daemons, shape (steps, nodes)."""
        return self.at_steps(self.contents.containers_but_daemons)

    @cached_property
    def requested(self) -> IntArray:
        """Requests of the containers that run, shape (steps, nodes, resources)."""
        return self.at_steps(self.contents.requested)

    def at_steps(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values by stretch, shape (stretches, ...), repeated for the steps of a stretch."""
        return np.repeat(values, [one.steps for one in self.stretches], axis=0)

    @cached_property
    def further(self) -> list[Sampled]:
        """A view for each further resource, with every step if its use is recorded.

        Otherwise requests stand for use, and the view has one step for each stretch.
        """
        return [
            self._recorded(column)
            if column in self.load.use.further_resources
            else self._of(column)
            for column in self.contents.room.columns
            if column not in USED
        ]

    @property
    def of_every_step(self) -> bool:
        """Whether the view has every step; otherwise it has one step for each stretch."""
        return self.column is None or self.column in self.load.use.further_resources

    def _whole(self, column: int) -> FloatArray:
        """Capacities of nodes for a further resource with recorded use, shape (nodes, 1)."""
        return self.load.nodes.capacity[having(self.load, column), column, None].astype(np.float64)

    def _recorded(self, column: int) -> Sampled:
        used = np.concatenate(
            [
                further_on(
                    self.load,
                    column,
                    range(one.first, one.first + one.steps),
                    one.containers,
                    one.nodes,
                )
                for one in self.stretches
            ]
        )[:, having(self.load, column), None]
        return Sampled(
            load=self.load,
            stretches=self.stretches,
            fractions=used / self._whole(column),
            add_up=lambda: used,
            computed_contents=self.contents,
            column=column,
        )

    def _of(self, column: int) -> Sampled:
        nodes = self.contents.room.nodes_with(column)
        used = self.contents.requested[:, nodes, column, None].astype(np.float64)
        return Sampled(
            load=self.load,
            stretches=[one._replace(steps=1) for one in self.stretches],
            fractions=used / self.contents.room.capacity_of(column)[:, None],
            add_up=lambda: used,
            computed_contents=self.contents,
            column=column,
        )


# What counts as use of a further resource: recorded use, else what is requested.
#
# This is the one place that says so. A workload that records the use of some further resources
# has it in ``further_usage``; of a container whose use of one is not known there, as of every
# container of any other further resource, what it requests counts as used.

#: Numbers that are added up at once, about.
_AT_ONCE = 2**18


def further_use(
    load: Workload, column: int, steps: range, containers: NDArray[np.integer[Any]]
) -> FloatArray:
    """Return the use of a further resource by these containers, shape (steps, some).

    The request stands for the use of a container without recorded use.
    """
    requested = load.containers.request[containers, column].astype(np.float64)
    if column not in load.use.further_resources or load.use.further is None:
        return np.broadcast_to(requested, (len(steps), len(requested)))
    recorded = load.use.further[load.use.further_resources.index(column), steps.start : steps.stop]
    use = recorded.take(load.use.columns_of(containers), axis=1).astype(np.float64)
    return np.asarray(np.where(np.isnan(use), requested, use))


def further_on(
    load: Workload,
    column: int,
    steps: range,
    containers: NDArray[np.integer[Any]],
    node: NDArray[np.integer[Any]],
) -> FloatArray:
    """Return the use of a further resource by the containers of each node, shape (steps, nodes)."""
    sums = np.zeros((len(steps), load.nodes.count))
    each = max(_AT_ONCE // max(load.nodes.count, len(containers), 1), 1)
    for start in range(0, len(steps), each):
        some = steps[start : start + each]
        where = (node + load.nodes.count * np.arange(len(some))[:, None]).ravel()
        use = further_use(load, column, some, containers).ravel()
        added = np.bincount(where, use, len(some) * load.nodes.count)
        sums[start : start + each] = added.reshape(len(some), load.nodes.count)
    return sums


def having(load: Workload, column: int) -> IntArray:
    """Return positions of the nodes that have a limited amount of a resource."""
    limited = (load.nodes.capacity[:, column] > 0) & (load.nodes.capacity[:, column] < UNLIMITED)
    return np.flatnonzero(limited)
