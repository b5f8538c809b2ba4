"""Use of the containers of a store with sizes, and use of nodes beyond their containers."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, Float32Array, IntArray
from tracekit.cluster.assembly.assumptions import SizedAssumptions
from tracekit.cluster.assembly.further import FurtherUse, further_use_of
from tracekit.cluster.assembly.replayed import Replayed
from tracekit.cluster.assembly.use import (
    BACKGROUND,
    CONTAINERS,
    NODES,
    measured,
    use_of,
)
from tracekit.cluster.reserved import held_at_most, reserved_of
from tracekit.cluster.resources import BASE
from tracekit.store.folder import Store


@dataclass(frozen=True, kw_only=True)
class Used:
    """Use over time of the containers that are replayed, and of their nodes.

    Parameters
    ----------
    values : float32, shape (2, steps, columns)
    column : int64, shape (containers,)
        The column of ``values`` that holds each container's use.
    unknown : bool, shape (2, containers)
        Whether the container's CPU, or memory, is not recorded.
    silent : bool, shape (containers,)
        Whether neither is recorded.
    held : int
        Number of steps within lives that have no sample of their own, over containers with
        samples.
    blank : int
        Number of steps between the first and the last sample at which no container has a
        sample.
    background : float32, shape (2, steps, nodes)
    reserved : int64, shape (nodes, resources), or None
    further : FurtherUse
    """

    values: Float32Array
    column: IntArray
    unknown: BoolArray
    silent: BoolArray
    held: int
    blank: int
    background: Float32Array
    reserved: IntArray | None
    further: FurtherUse

    @property
    def recorded(self) -> BoolArray:
        """Whether each column of ``values`` holds a record, shape (2, columns)."""
        found = np.ones((len(BASE), self.values.shape[2]), dtype=np.bool_)
        found[:, self.column] = ~self.unknown
        return found


def used_of(store: Store, replayed: Replayed, assumptions: SizedAssumptions) -> Used:
    """The use of containers, and the amount of each node that is reserved for other use.

    A container without recorded use uses ``used_share`` of its request all the time. Such
    containers share a column if their requests are equal, except those with recorded use of a
    further resource.
    """
    life, capacity = replayed.life, replayed.amounts.capacity
    request = replayed.request[:, : len(BASE)]
    ids = replayed.rows["container"]
    further = further_use_of(store, ids, replayed.amounts.resources, life, assumptions)
    instead = (request * assumptions.used_share).astype(np.float32)
    lives_ms = life.arrival_ms, life.departure_ms
    found = use_of(
        store,
        CONTAINERS,
        ids,
        request,
        life=life,
        assumptions=assumptions,
        instead=instead,
        lives_ms=lives_ms,
    )
    usage, silent = found.values, ~found.measured
    column = np.cumsum(found.measured) - 1
    if silent.any():
        # a container with further use has a number of its own beside the request
        number = np.where(further.at >= 0, np.arange(1, len(ids) + 1), 0)[silent, None]
        shapes, of = np.unique(np.hstack([request[silent], number]), axis=0, return_inverse=True)
        column[silent] = usage.shape[2] + of.reshape(-1)
        flat = (shapes[:, : len(BASE)].T * assumptions.used_share).astype(np.float32)
        constant = np.repeat(flat[:, None], len(life.times_ms), axis=1)
        usage = np.concatenate([usage, constant], axis=2)
    unknown = found.lacking | silent
    column = column.astype(np.int64)
    background = _beyond(store, replayed, assumptions, usage=usage, column=column, unknown=unknown)
    held = held_at_most(replayed.where, replayed.request, *lives_ms, nodes=len(capacity))
    return Used(
        values=usage,
        column=column,
        unknown=unknown,
        silent=np.asarray(unknown.all(axis=0)),
        held=found.held,
        blank=found.blank,
        background=background,
        reserved=reserved_of(
            assumptions.reserved, background=background, capacity=capacity, held=held
        ),
        further=further,
    )


def _beyond(
    store: Store,
    replayed: Replayed,
    assumptions: SizedAssumptions,
    *,
    usage: Float32Array,
    column: IntArray,
    unknown: BoolArray,
) -> Float32Array:
    """Use of nodes beyond that of the containers recorded there, shape (2, steps, nodes).

    It is 0 where no container's use is recorded: requests say nothing of a node's other use. A
    container that was there at the beginning ran on its node all along, although the replay lets it
    arrive later: its use until then is not other use.
    """
    life, nodes = replayed.life, pl.Series(replayed.nodes)
    capacity = replayed.amounts.capacity[:, : len(BASE)]
    stated = use_of(store, BACKGROUND, nodes, capacity, life=life, assumptions=assumptions)
    rest = np.zeros((len(BASE), len(life.times_ms), len(nodes)), dtype=np.float32)
    if stated.measured.any():
        rest[:, :, stated.measured] = stated.values
        return rest
    if assumptions.background == "none" or unknown.all() or measured(store, NODES) is None:
        return rest
    own = use_of(store, NODES, nodes, capacity, life=life, assumptions=assumptions)
    rest[:, :, own.measured] = own.values
    placed = np.flatnonzero(replayed.recorded >= 0)
    for step, now in enumerate(life.times_ms.tolist()):
        came = life.there[placed] | (life.arrival_ms[placed] <= now)
        here = placed[came & (now < life.departure_ms[placed])]
        for resource in range(len(BASE)):
            used = usage[resource, step, column[here]]
            rest[resource, step] -= np.bincount(replayed.recorded[here], used, len(nodes))
    rest[:, :, ~own.measured] = 0.0
    return np.maximum(rest, 0.0, out=rest)
