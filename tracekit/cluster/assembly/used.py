"""Use of containers of a store with sizes, and of nodes beyond them, over the replay's time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, Float32Array, IntArray
from tracekit.cluster.assembly.assumptions import SizedAssumptions
from tracekit.cluster.assembly.further import FurtherUse, further_use_of
from tracekit.cluster.assembly.lives import Lives
from tracekit.cluster.assembly.replayed import Replayed
from tracekit.cluster.assembly.use import (
    BACKGROUND,
    CONTAINERS,
    NODES,
    Recorded,
    Use,
    measured,
    use_of,
)
from tracekit.cluster.reserved import held_at_most, reserved_of
from tracekit.cluster.resources import BASE
from tracekit.store.folder import Store


@dataclass(frozen=True, kw_only=True)
class Used:
    """Use over time.

    Parameters
    ----------
    values : float32, shape (2, steps, columns)
    column : int64, shape (containers,)
        Which column of ``values`` each container has.
    unknown : bool, shape (2, containers)
        Whose CPU, or memory, is not recorded.
    silent : bool, shape (containers,)
        Of whom neither is.
    held : int
        Steps of the lives of the others that have no sample of their own.
    blank : int
        Steps at which no container has a sample, although some have before and after.
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
        """Columns of ``values`` that are of a record, shape (2, columns)."""
        found = np.ones((len(BASE), self.values.shape[2]), dtype=np.bool_)
        found[:, self.column] = ~self.unknown
        return found


def used_of(store: Store, who: Replayed, assumptions: SizedAssumptions) -> Used:
    """The use of containers, and the amount of each node reserved for other use."""
    use, capacity = _Recorded(store, who.life, assumptions), who.amounts.capacity
    ids = who.rows["container"]
    further = further_use_of(store, ids, who.amounts.resources, who.life, assumptions)
    found = use.of_containers(ids, who.request, further.at >= 0)
    values, column, unknown = found.values, found.column, found.unknown
    silent: BoolArray = np.asarray(unknown.all(axis=0))
    background = use.beyond(
        who.nodes, capacity, who.recorded, usage=values, column=column, silent=silent
    )
    life = who.life
    held = held_at_most(
        who.where, who.request, life.arrival_ms, life.departure_ms, nodes=len(capacity)
    )
    return Used(
        values=values,
        column=column,
        unknown=unknown,
        silent=silent,
        held=found.held,
        blank=found.blank,
        background=background,
        reserved=reserved_of(
            assumptions.reserved, background=background, capacity=capacity, held=held
        ),
        further=further,
    )


class _OfContainers(NamedTuple):
    """Use of containers: as in ``Used``."""

    values: Float32Array
    column: IntArray
    unknown: BoolArray
    held: int
    blank: int


@dataclass(frozen=True)
class _Recorded:
    """Recorded use over the axis of the replay."""

    store: Store
    life: Lives
    assumptions: SizedAssumptions

    def _of(
        self,
        recorded: Recorded,
        ids: pl.Series,
        size: IntArray,
        instead: Float32Array | None = None,
        lives_ms: tuple[IntArray, IntArray] | None = None,
    ) -> Use:
        return use_of(
            self.store,
            recorded,
            ids,
            size[:, : len(BASE)],
            times_ms=self.life.times_ms,
            step_ms=self.life.step_ms,
            assumptions=self.assumptions,
            instead=instead,
            lives_ms=lives_ms,
        )

    def of_containers(self, ids: pl.Series, request: IntArray, apart: BoolArray) -> _OfContainers:
        """The matrix of use, each container's column, and of which resource it is not recorded.

        What is not recorded is ``used_share`` of the request all the time; containers without any
        recorded use that ask for the same share a column, but those that are to be ``apart``.
        """
        instead = (request[:, : len(BASE)] * self.assumptions.used_share).astype(np.float32)
        lives_ms = (self.life.arrival_ms, self.life.departure_ms)
        found = self._of(CONTAINERS, ids, request, instead, lives_ms)
        usage, silent = found.values, ~found.measured
        column = np.cumsum(found.measured) - 1
        if silent.any():
            # who is apart has a number of its own beside the request
            number = np.where(apart, np.arange(1, len(ids) + 1), 0)[silent, None]
            base = np.hstack([request[silent, : len(BASE)], number])
            shapes, of = np.unique(base, axis=0, return_inverse=True)
            column[silent] = usage.shape[2] + of.reshape(-1)
            flat = (shapes[:, : len(BASE)].T * self.assumptions.used_share).astype(np.float32)
            constant = np.repeat(flat[:, None], len(self.life.times_ms), axis=1)
            usage = np.concatenate([usage, constant], axis=2)
        unknown = found.lacking | silent
        return _OfContainers(usage, column.astype(np.int64), unknown, found.held, found.blank)

    def beyond(
        self,
        nodes: Sequence[str],
        capacity: IntArray,
        recorded: IntArray,
        *,
        usage: Float32Array,
        column: IntArray,
        silent: BoolArray,
    ) -> Float32Array:
        """Use of nodes beyond that of the containers recorded there, shape (2, steps, nodes).

        Nothing where no container's use is recorded: their requests say nothing of the rest. Who
        was there at the beginning was on its node all along, although the replay lets it arrive
        later: what it used then is no use of the rest.
        """
        life = self.life
        stated = self._of(BACKGROUND, pl.Series(nodes), capacity)
        rest = np.zeros((len(BASE), len(life.times_ms), len(nodes)), dtype=np.float32)
        if stated.measured.any():
            rest[:, :, stated.measured] = stated.values
            return rest
        unknown = silent.all() or measured(self.store, NODES) is None
        if self.assumptions.background == "none" or unknown:
            return rest
        own = self._of(NODES, pl.Series(nodes), capacity)
        rest[:, :, own.measured] = own.values
        placed = np.flatnonzero(recorded >= 0)
        for step, now in enumerate(life.times_ms.tolist()):
            came = life.there[placed] | (life.arrival_ms[placed] <= now)
            here = placed[came & (now < life.departure_ms[placed])]
            for resource in range(len(BASE)):
                used = usage[resource, step, column[here]]
                rest[resource, step] -= np.bincount(recorded[here], used, len(nodes))
        rest[:, :, ~own.measured] = 0.0
        return np.maximum(rest, 0.0, out=rest)
