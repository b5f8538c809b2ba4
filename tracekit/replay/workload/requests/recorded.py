"""Recorded sizes of a store whose use comes from a trace that has none itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.arrays import IntArray
from tracekit.replay.workload.requests.asked import Asked
from tracekit.replay.workload.resources import BASE, CPU, MEMORY
from tracekit.replay.workload.sized.amounts import Amounts, amounts_of
from tracekit.replay.workload.sized.assumptions import SizedAssumptions
from tracekit.replay.workload.sized.tables import Sizes, sizes_of
from tracekit.store import Store


@dataclass(frozen=True)
class Recorded:
    """What a store records of these nodes and of the containers that it lists.

    Parameters
    ----------
    found : Sizes
        The tables themselves.
    amounts : Amounts
        Capacities in the order of the nodes, requests in that of ``found.containers``.
    """

    found: Sizes
    amounts: Amounts

    def rows(self, container_ids: Sequence[str]) -> IntArray:
        """The row of each container among those listed, -1 for one that is not."""
        listed = self.found.containers.select("container").with_row_index("row")
        asked = pl.DataFrame({"container": list(container_ids)})
        found = asked.join(listed, on="container", how="left", maintain_order="left")["row"]
        return np.asarray(found.cast(pl.Int64).fill_null(-1).to_numpy())

    def asked(self, container_ids: Sequence[str], plain: Asked) -> Asked:
        """What containers ask for; one of which nothing is recorded asks for what ``plain`` says.

        Fractions of use are of the limit, where none is recorded of the request.
        """
        rows = self.rows(container_ids)
        told, base = rows >= 0, slice(0, len(BASE))
        request, limit = self.amounts.request[rows].copy(), self.amounts.limit[rows].copy()
        stated = self.amounts.stated[rows] & told[:, None]
        full = np.where(limit[:, base] > 0, limit[:, base], request[:, base]).astype(np.float64)
        unknown = ~(told[:, None] & (full > 0))
        full[unknown] = plain.full[unknown]
        missing = ~stated[:, base] & unknown
        for source, target in ((plain.request, request), (plain.limit, limit)):
            target[:, base][missing] = source[missing]
            target[~told, len(BASE) :] = 0
        stated[:, base] |= missing
        rests = dict.fromkeys(self.amounts.resources, "recorded")
        for column, name in enumerate((CPU, MEMORY)):
            if missing[:, column].all():
                rests[name] = "assumed"
        return Asked(
            resources=self.amounts.resources,
            request=request,
            limit=limit,
            stated=stated,
            full=full,
            rests=rests,
            facts={"containers_with_assumed_request": int(missing.any(axis=1).sum())},
        )


def recorded_sizes(store: Store, nodes: Sequence[str], assumptions: SizedAssumptions) -> Recorded:
    """The recorded sizes of nodes in their order, and of all containers that are listed.

    Raises
    ------
    TracekitError
        When the tables contradict each other.
    """
    found = sizes_of(store)
    return Recorded(found, amounts_of(found, nodes, assumptions))
