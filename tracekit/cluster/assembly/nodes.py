"""The nodes of a workload from the table ``node``: prices, types, domains, nodes that stay."""

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.constants import INSTANCE_TYPES, ZONES
from tracekit.cluster.constraints.labels import Labels
from tracekit.cluster.nodes import KINDS, NodeDomains, domains_of
from tracekit.cluster.parts import Nodes
from tracekit.intake.sources.own._kubernetes.rules import STAYS
from tracekit.store.node_states import cordoned

#: Labels, and taints, of nodes of the control plane; the second is that of before 1.24. Annotations
#: that say of a node that it stays are kept among its labels.
CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


def nodes_of(
    ids: tuple[str, ...], capacity: IntArray, reserved: IntArray | None, listed: pl.DataFrame
) -> Nodes:
    """The nodes with what their rows state of them.

    Parameters
    ----------
    capacity, reserved : int64, shape (nodes, resources)
    listed : DataFrame
        The row of each in the table ``node``; without rows none is listed.
    """
    if not listed.height:
        return Nodes(ids=ids, capacity=capacity, reserved=reserved)
    labels = Labels(listed)
    return Nodes(
        ids=ids,
        capacity=capacity,
        reserved=reserved,
        price_per_hour=prices_of(listed),
        instance_types=_instance_types(labels),
        domains=_domains(labels),
    )


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
