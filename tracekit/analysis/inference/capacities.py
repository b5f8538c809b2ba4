"""How large nodes are beside the commonest one, where a store records it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from tracekit.store.query.run import AnyDatabase


_ROWS = """
SELECT node_key, resource, unit, time_ms, amount
FROM node_resource_keyed
WHERE cell IS NULL AND amount > 0
"""


@dataclass(frozen=True)
class Capacities:
    """Recorded capacities of one resource.

    Parameters
    ----------
    commonest : float
        The capacity that most nodes have, the smaller of equally many, in ``unit``.
    relative : dict of int to float
        Capacity over the commonest, by key of the node.
    """

    commonest: float
    unit: str
    relative: dict[int, float] = field(default_factory=dict)


def capacities(database: AnyDatabase) -> dict[str, Capacities]:
    """Capacities of the resources of which they are recorded in one unit, the last of each node."""
    rows = database.frame(_ROWS).sort("time_ms", "amount")
    rows = rows.unique(["node_key", "resource"], keep="last", maintain_order=True)
    found = {}
    for (name,), part in rows.group_by("resource", maintain_order=True):
        if part["unit"].n_unique() != 1:
            continue
        counts = part.group_by("amount").len().sort("len", "amount", descending=[True, False])
        commonest = float(counts["amount"][0])
        relative = part.select("node_key", pl.col("amount") / commonest)
        found[str(name)] = Capacities(commonest, part["unit"][0], dict(relative.rows()))
    return found
