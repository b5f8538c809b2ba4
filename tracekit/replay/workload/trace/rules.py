"""Rules, gangs, priorities and daemons of a trace's containers, from tables recorded beside it."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.arrays import BoolArray, FloatArray, IntArray
from tracekit.replay.workload.constraints.constraints import Constraints
from tracekit.replay.workload.domains import NodeDomains
from tracekit.replay.workload.requests.asked import Recorded
from tracekit.replay.workload.sized.assumptions import SizedAssumptions
from tracekit.replay.workload.sized.rules import (
    domains_of_nodes,
    gangs_of,
    held_rules,
    prices_of,
    priority_of,
)
from tracekit.replay.workload.trace.tables import Trace


@dataclass(frozen=True, kw_only=True)
class Rules:
    """As the fields of a workload of these names."""

    constraints: Constraints | None = None
    gang: IntArray | None = None
    gang_minimum: IntArray | None = None
    priority: IntArray | None = None
    daemon: BoolArray | None = None
    price_per_hour: FloatArray | None = None
    domains: NodeDomains | None = None


def rules_of(
    recorded: Recorded | None, trace: Trace, order: IntArray, request: IntArray, capacity: IntArray
) -> Rules:
    """What is recorded beside the sizes; nothing without tables.

    Parameters
    ----------
    order : int64, shape (containers,)
        Containers of the trace in order of arrival, which ``request`` is in too.
    """
    if recorded is None:
        return Rules()
    found = recorded.found
    ids = pl.DataFrame({"container": [trace.container_ids[at] for at in order]})
    rows = ids.join(found.containers, on="container", how="left", maintain_order="left")
    nodes = pl.DataFrame({"node": list(trace.node_ids)}).join(
        found.nodes, on="node", how="left", maintain_order="left"
    )
    gang, minimum = gangs_of(rows)
    daemon = rows["daemon"].fill_null(0).to_numpy() > 0
    return Rules(
        constraints=held_rules(
            found, nodes, rows, SizedAssumptions(), request=request, capacity=capacity
        ),
        gang=gang,
        gang_minimum=minimum,
        priority=priority_of(rows["priority"]),
        daemon=np.asarray(daemon) if daemon.any() else None,
        price_per_hour=prices_of(nodes),
        domains=domains_of_nodes(nodes),
    )
