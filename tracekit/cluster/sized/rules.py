"""Reads what tables hold beside sizes: rules, gangs, priorities; domains, prices."""

import json
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.constants import INSTANCE_TYPES, ZONES
from tracekit.cluster.constraints.among import NEVER_EVICTED, NEVER_PREEMPTS
from tracekit.cluster.constraints.build import constraints_of
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.labels import Labels
from tracekit.cluster.nodes import KINDS, NodeDomains, domains_of
from tracekit.cluster.sized.assumptions import SizedAssumptions
from tracekit.cluster.sized.tables import Sizes
from tracekit.intake.sources.own._kubernetes.rules import STAYS
from tracekit.store.node_states import cordoned

#: Labels, and taints, of nodes of the control plane; the second is that of before 1.24. Annotations
#: that say of a node that it stays are kept among its labels.
CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
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


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The fields of a workload of these names."""

    constraints: Constraints | None = None
    gang: IntArray | None = None
    gang_minimum: IntArray | None = None
    priority: IntArray | None = None
    daemon: BoolArray | None = None
    price_per_hour: FloatArray | None = None
    instance_types: tuple[str, ...] | None = None
    domains: NodeDomains | None = None

    def pinned(self, where: IntArray, stays: BoolArray) -> IntArray | None:
        """The nodes of containers that no policy places, -1 for others; None if there are none.

        Parameters
        ----------
        where : int64, shape (containers,)
            The node that each ran on.
        stays : bool, shape (containers,)
            Who is put there besides daemons.
        """
        put = stays if self.daemon is None else stays | self.daemon
        return np.where(put, where, -1) if put.any() else None


def rules_of(
    found: Sizes,
    nodes: pl.DataFrame,
    rows: pl.DataFrame,
    assumptions: SizedAssumptions,
    *,
    request: IntArray,
    capacity: IntArray,
    ran: BoolArray | None = None,
) -> Rules:
    """The rules in the tables, less those that the assumptions leave out.

    Parameters
    ----------
    nodes, rows : DataFrame
        Rows of ``node`` and of ``container`` in the order of the workload.
    request, capacity : int64, shape (containers, resources) and (nodes, resources), likewise
    ran : bool, shape (containers,), optional
        Who may be a daemon: where given, only who is known to have run on a node.
    """
    gang, minimum = gangs_of(rows)
    daemon = np.asarray(rows["daemon"].fill_null(0).to_numpy() > 0)
    if ran is not None:
        daemon &= ran
    labels = Labels(nodes) if nodes.height else None
    return Rules(
        constraints=_held_rules(
            found, nodes, rows, assumptions, request=request, capacity=capacity
        ),
        gang=gang,
        gang_minimum=minimum,
        priority=priority_of(rows["priority"]),
        daemon=daemon if daemon.any() else None,
        price_per_hour=prices_of(nodes),
        instance_types=None if labels is None else _instance_types(labels),
        domains=None if labels is None else _domains(labels),
    )


def priority_of(recorded: pl.Series) -> IntArray | None:
    """Priorities, 0 where none is recorded; None where none is at all."""
    if recorded.null_count() == len(recorded):
        return None
    return np.asarray(recorded.fill_null(0).to_numpy().astype(np.int64))


def evicts_nobody_of(stated: pl.Series) -> BoolArray | None:
    """Containers that never evict others, by the column ``rules``; None where all may."""
    return _stating(stated, NEVER_PREEMPTS, "Never")


def never_evicted_of(stated: pl.Series) -> BoolArray | None:
    """Containers that may not be evicted, by the column ``rules``; None where all may."""
    return _stating(stated, NEVER_EVICTED, "false")


def _stating(stated: pl.Series, kind: str, value: str) -> BoolArray | None:
    """Containers with a rule of this kind and value; None where there are none."""
    texts = [one for one in stated.drop_nulls().unique() if kind in one]
    said = [
        text
        for text in texts
        if any(row == {"kind": kind, "value": value} for row in json.loads(text))
    ]
    return np.asarray(stated.is_in(said).fill_null(value=False).to_numpy()) if said else None


def _held_rules(
    found: Sizes,
    nodes: pl.DataFrame,
    rows: pl.DataFrame,
    assumptions: SizedAssumptions,
    *,
    request: IntArray,
    capacity: IntArray,
) -> Constraints | None:
    """The constraints in the tables, less those that the assumptions leave out."""
    if not found.nodes.height:
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
        rows.drop(left_out),
        found.rules if assumptions.groups == "keep" else None,
        request=request,
        capacity=capacity,
        whole={
            "cpu": assumptions.full_cpu_cores,
            "memory": float(assumptions.full_memory_bytes),
        },
    )


def gangs_of(rows: pl.DataFrame) -> tuple[IntArray | None, IntArray | None]:
    """The gang of each container, -1 for none, and how many of it are enough; None without any.

    The latter is 0 of a gang of which nobody states it, and no more than its members.
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
    """How many gangs have fewer members than they need, as a fact; empty for none."""
    of = rows.drop_nulls("gang").group_by("gang").agg(pl.len(), pl.col("gang_minimum").max())
    short = of.filter(pl.col("gang_minimum") > pl.col("len")).height
    return {"gangs_short_of_members": short} if short else {}


def prices_of(nodes: pl.DataFrame) -> FloatArray | None:
    """The price of each node, NaN where it is not recorded; None where none is."""
    prices = nodes["price_per_hour"].cast(pl.Float64)
    if prices.null_count() == len(prices):
        return None
    return np.asarray(prices.fill_null(np.nan).to_numpy())


def control_plane_of(nodes: pl.DataFrame) -> BoolArray | None:
    """Which nodes nobody takes away: those that run the control plane, and those that say so.

    By Kubernetes' labels or taints; None where there are none.

    Source: kubernetes v1.34, "Well-Known Labels, Annotations and Taints".
    """
    found = np.zeros(nodes.height, dtype=np.bool_)
    for column in ("labels", "taints"):
        if column in nodes.columns:
            kept = [*CONTROL_PLANE, *STAYS]
            said = nodes[column].cast(pl.String).fill_null("").str.contains_any(kept)
            found |= said.to_numpy()
    return found if found.any() else None


def cordoned_of(nodes: pl.DataFrame, rows: pl.DataFrame) -> BoolArray | None:
    """Which nodes take nothing new at the end, by all rows of ``node``; None where all do."""
    found = nodes["node"].is_in(cordoned(rows)["node"].implode()).to_numpy()
    return found if found.any() else None


def _instance_types(labels: Labels) -> tuple[str, ...] | None:
    """The instance type of each node by its labels, empty where it has none; None without any."""
    found = tuple(one or "" for one in _first(labels, *INSTANCE_TYPES))
    return found if any(found) else None


def _domains(labels: Labels) -> NodeDomains | None:
    """Rack, domain and zone of each node; without a column zone the label of Kubernetes counts."""
    named = {one: labels.values(one) for one in KINDS}
    return domains_of({**named, "zone": _first(labels, "zone", *ZONES)})


def _first(labels: Labels, *names: str) -> list[str | None]:
    """The value at each node of the first of these labels that it has."""
    each = zip(*map(labels.values, names), strict=True)
    return [next((one for one in values if one), None) for values in each]
