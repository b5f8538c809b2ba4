"""The rules of a workload from the tables: constraints, gangs, priorities, daemons."""

import json

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.assembly.assumptions import SizedAssumptions
from tracekit.cluster.assembly.replayed import (
    Replayed,
)
from tracekit.cluster.budgets import budgets_of
from tracekit.cluster.checks import nothing_observed
from tracekit.cluster.constraints.among import NEVER_EVICTED, NEVER_PREEMPTS
from tracekit.cluster.constraints.build import constraints_of
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.written import written_of
from tracekit.cluster.declared import Start
from tracekit.cluster.parts import Rules

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
    """The rules in the tables, without those that the assumptions leave out.

    With ``start=observed`` the containers there at the beginning stay where they ran. A daemon
    always stays on its node, where the node is known.
    """
    rows = replayed.rows
    gang, minimum = gangs_of(rows)
    daemon = np.asarray(rows["daemon"].fill_null(0).to_numpy() > 0) & (replayed.where >= 0)
    stays = replayed.life.there & (replayed.where >= 0) & (start == "observed")
    if start == "observed" and not stays.any():
        raise nothing_observed()
    put = stays | daemon
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
    """The priority of each container, 0 where none is recorded; None if no container has one."""
    if recorded.null_count() == len(recorded):
        return None
    return np.asarray(recorded.fill_null(0).to_numpy().astype(np.int64))


def _stating(stated: pl.Series, kind: str, value: str) -> BoolArray | None:
    """Which containers state a rule of this kind and value; None where no container does."""
    texts = [one for one in stated.drop_nulls().unique() if kind in one]
    said = [
        text
        for text in texts
        if any(row == {"kind": kind, "value": value} for row in json.loads(text))
    ]
    return np.asarray(stated.is_in(said).fill_null(value=False).to_numpy()) if said else None


def _constraints(replayed: Replayed, assumptions: SizedAssumptions) -> Constraints | None:
    """The constraints in the tables, without those that the assumptions leave out."""
    found, nodes = replayed.sizes, replayed.sizes.nodes
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
        found.capacity if assumptions.cells == "keep" else None,
        replayed.rows.drop(left_out),
        found.rules if assumptions.groups == "keep" else None,
        request=replayed.request,
        capacity=replayed.amounts.capacity,
        whole={
            "cpu": assumptions.full_cpu_cores,
            "memory": float(assumptions.full_memory_bytes),
        },
    )


def gangs_of(rows: pl.DataFrame) -> tuple[IntArray | None, IntArray | None]:
    """The gang of each container, -1 for none, and the number of members that is enough.

    That number is 0 where the source states none, and never above the number of members. None where
    no container is in a gang.
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
    """A fact of gangs that have fewer members than they need; empty if there is none."""
    of = rows.drop_nulls("gang").group_by("gang").agg(pl.len(), pl.col("gang_minimum").max())
    short = of.filter(pl.col("gang_minimum") > pl.col("len")).height
    return {"gangs_short_of_members": short} if short else {}
