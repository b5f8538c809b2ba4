"""The use and the rules of a workload from the tables of a store."""

import json
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, Float32Array, IntArray
from tracekit.cluster.assembly.further import FurtherUse, further_use_of
from tracekit.cluster.assembly.replayed import Replayed
from tracekit.cluster.assembly.use import (
    BACKGROUND,
    CONTAINERS,
    NODES,
    measured,
    use_of,
)
from tracekit.cluster.assumptions import SizedAssumptions
from tracekit.cluster.budgets import budgets_of
from tracekit.cluster.constraints.among import NEVER_EVICTED, NEVER_PREEMPTS
from tracekit.cluster.constraints.build import constraints_of
from tracekit.cluster.constraints.constraints import Constraints, written_of
from tracekit.cluster.declared import Start
from tracekit.cluster.parts import Rules
from tracekit.cluster.resources import BASE, held_at_most, reserved_of
from tracekit.cluster.workload import nothing_observed
from tracekit.store.folder import Store


@dataclass(frozen=True, kw_only=True)
class Used:
    """Use over time of the containers that are replayed, and of their nodes.

    Parameters
    ----------
    values : float32, shape (2, steps, columns)
        CPU in millicores, and memory in bytes.
    column : int64, shape (containers,)
        The column of ``values`` that holds each container's use.
    unknown : bool, shape (2, containers)
        Whether the container's CPU, or memory, is not recorded.
    silent : bool, shape (containers,)
        Whether neither CPU nor memory is recorded.
    held : int
        Number of steps at which a measured container runs without a sample, over all containers.
    blank : int
        Number of steps between the first and the last sample at which no container has a sample.
    background : float32, shape (2, steps, nodes)
        Use of nodes beyond their containers, in millicores and bytes.
    reserved : int64, shape (nodes, resources), or None
        The part of each node that requests may not use.
    further : FurtherUse
        The containers' use of resources beyond CPU and memory.
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
        mask = np.ones((len(BASE), self.values.shape[2]), dtype=np.bool_)
        mask[:, self.column] = ~self.unknown
        return mask


def used_of(store: Store, replayed: Replayed, assumptions: SizedAssumptions) -> Used:
    """Return the use of containers, and the amount of each node that is reserved for other use.

    A container without recorded use uses ``used_share`` of its request all the time. Such
    containers share a column of values if their requests are equal. One with recorded use of a
    resource beyond CPU and memory, such as a GPU, has a column of its own.
    """
    life, capacity = replayed.life, replayed.amounts.capacity
    request = replayed.request[:, : len(BASE)]
    ids = replayed.rows["container"]
    further = further_use_of(store, ids, replayed.amounts.resources, life, assumptions)
    instead = (request * assumptions.used_share).astype(np.float32)
    lives_ms = life.arrival_ms, life.departure_ms
    use = use_of(
        store,
        CONTAINERS,
        ids,
        request,
        life=life,
        assumptions=assumptions,
        instead=instead,
        lives_ms=lives_ms,
    )
    usage, silent = use.values, ~use.measured
    column = np.cumsum(use.measured) - 1
    if silent.any():
        # a container with further use has a number of its own beside the request
        number = np.where(further.at >= 0, np.arange(1, len(ids) + 1), 0)[silent, None]
        shapes, of = np.unique(np.hstack([request[silent], number]), axis=0, return_inverse=True)
        column[silent] = usage.shape[2] + of.reshape(-1)
        flat = (shapes[:, : len(BASE)].T * assumptions.used_share).astype(np.float32)
        constant = np.repeat(flat[:, None], len(life.times_ms), axis=1)
        usage = np.concatenate([usage, constant], axis=2)
    unknown = use.lacking | silent
    column = column.astype(np.int64)
    background = _beyond(store, replayed, assumptions, usage=usage, column=column, unknown=unknown)
    held = held_at_most(replayed.where, replayed.request, *lives_ms, nodes=len(capacity))
    return Used(
        values=usage,
        column=column,
        unknown=unknown,
        silent=np.asarray(unknown.all(axis=0)),
        held=use.held,
        blank=use.blank,
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
        came = life.at_start[placed] | (life.arrival_ms[placed] <= now)
        here = placed[came & (now < life.departure_ms[placed])]
        for resource in range(len(BASE)):
            used = usage[resource, step, column[here]]
            rest[resource, step] -= np.bincount(replayed.recorded[here], used, len(nodes))
    rest[:, :, ~own.measured] = 0.0
    return np.maximum(rest, 0.0, out=rest)


#: The columns of the table ``container`` that say whom a container may be beside.
_GROUPS = (
    "apart",
    "apart_domain",
    "apart_most",
    "together",
    "together_domain",
    "rules",
    "host_ports",
)


def rules_of(replayed: Replayed, assumptions: SizedAssumptions, start: Start) -> Rules:
    """Return the rules on placement in the tables, without those that the assumptions leave out.

    If ``start`` is ``observed``, the containers that run at the beginning stay where they ran. A
    daemon whose node is known always stays on this node.
    """
    rows = replayed.rows
    gang, minimum = gangs_of(rows)
    daemon = np.asarray(rows["daemon"].fill_null(0).to_numpy() > 0) & (replayed.where >= 0)
    observed = replayed.life.at_start & (replayed.where >= 0) & (start == "observed")
    if start == "observed" and not observed.any():
        raise nothing_observed()
    put = observed | daemon
    return Rules(
        constraints=_constraints(replayed, assumptions),
        pinned=np.where(put, replayed.where, -1) if put.any() else None,
        daemon=daemon if daemon.any() else None,
        priority=priority_of(rows["priority"]),
        evicts_nobody=_stating(rows["rules"], NEVER_PREEMPTS, "Never"),
        never_evicted=_stating(rows["rules"], NEVER_EVICTED, "false"),
        gang=gang,
        gang_minimum=minimum,
        budgets=budgets_of(rows["rules"], replayed.left_waiting["rules"]),
        written=written_of(rows, replayed.sizes.nodes, replayed.life.begins_listed_ms),
    )


def priority_of(recorded: pl.Series) -> IntArray | None:
    """Return the priority of each container, or None if no container has a priority.

    A container without a recorded priority has 0.
    """
    if recorded.null_count() == len(recorded):
        return None
    return np.asarray(recorded.fill_null(0).to_numpy().astype(np.int64))


def _stating(stated: pl.Series, kind: str, value: str) -> BoolArray | None:
    """Which containers state a rule of this kind and value; None where no container does."""
    texts = [one for one in stated.drop_nulls().unique() if kind in one]
    matching = [
        text
        for text in texts
        if any(row == {"kind": kind, "value": value} for row in json.loads(text))
    ]
    return (
        np.asarray(stated.is_in(matching).fill_null(value=False).to_numpy()) if matching else None
    )


def _constraints(replayed: Replayed, assumptions: SizedAssumptions) -> Constraints | None:
    """The constraints in the tables, without those that the assumptions leave out."""
    tables, nodes = replayed.sizes, replayed.sizes.nodes
    if not nodes.height:
        return None
    left_out = [
        *(_GROUPS if assumptions.groups == "none" else ()),
        *(("selector", "tolerations") if assumptions.selectors == "none" else ()),
        *(("numa_cells",) if assumptions.cells == "none" else ()),
    ]
    if assumptions.selectors == "none":
        nodes = nodes.drop("taints", "state")
    return constraints_of(
        nodes,
        tables.capacity if assumptions.cells == "keep" else None,
        replayed.rows.drop(left_out),
        tables.rules if assumptions.groups == "keep" else None,
        request=replayed.request,
        capacity=replayed.amounts.capacity,
        whole={
            "cpu": assumptions.full_cpu_cores,
            "memory": float(assumptions.full_memory_bytes),
        },
    )


def gangs_of(rows: pl.DataFrame) -> tuple[IntArray | None, IntArray | None]:
    """Return the gang of each container, and the number of members that is enough for the gang.

    A gang is a group of which enough members run or none does. A container in no gang has -1. The
    number is 0 if the source states none, and never above the number of members. Both results are
    None if no container is in a gang.
    """
    names = rows["gang"]
    if names.null_count() == len(names):
        return None, None
    number = names.rank("dense").fill_null(0).to_numpy().astype(np.int64) - 1
    members = np.bincount(number[number >= 0])
    stated = np.zeros(len(members), dtype=np.int64)
    needed = rows["gang_minimum"].cast(pl.Float64).fill_null(0).fill_nan(0).to_numpy()
    np.maximum.at(stated, number[number >= 0], needed[number >= 0].astype(np.int64))
    enough = np.minimum(stated, members)
    return number, np.where(number >= 0, enough[number], 0)


def short_gangs(rows: pl.DataFrame) -> dict[str, int]:
    """Return the number of gangs with fewer members than they need, as ``gangs_short_of_members``.

    Return an empty mapping if there are none.
    """
    of = rows.drop_nulls("gang").group_by("gang").agg(pl.len(), pl.col("gang_minimum").max())
    short = of.filter(pl.col("gang_minimum") > pl.col("len")).height
    return {"gangs_short_of_members": short} if short else {}
