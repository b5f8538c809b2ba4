"""What is written of containers and nodes for a descheduler to read; each distinct text once.

The texts are read where a policy needs them, see ``tracekit.policy.view.pods``.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.cluster.constraints.labels import COLUMNS

#: Columns of the table ``container`` that are kept, and of the table ``node``.
OF_CONTAINERS = (
    *("namespace", "labels", "rules", "selector", "tolerations"),
    *("priority", "service", "eviction"),
)
OF_NODES = ("labels", "taints", "state", *COLUMNS)


@dataclass(frozen=True, kw_only=True, eq=False)
class Written:
    """Rows of the tables ``container`` and ``node``.

    Parameters
    ----------
    containers, nodes : tuple of str
        Distinct rows, each a JSON list of the values of ``OF_CONTAINERS``, ``OF_NODES``.
    container, node : int64, shape (containers,) and (nodes,)
        The position of each one's row.
    created_ms : int64, shape (containers,)
        When each container was created.
    """

    containers: tuple[str, ...]
    container: IntArray
    created_ms: IntArray
    nodes: tuple[str, ...]
    node: IntArray

    def __len__(self) -> int:
        return len(self.container)

    def taken(self, order: IntArray) -> Written:
        """The part for the containers at these positions, in this order."""
        return dataclasses.replace(
            self, container=self.container[order], created_ms=self.created_ms[order]
        )

    def on(self, nodes: IntArray) -> Written:
        """The part for the nodes at these positions alone."""
        return dataclasses.replace(self, node=self.node[nodes])


def written_of(
    containers: pl.DataFrame, nodes: pl.DataFrame, begin_ms: int | None = None
) -> Written | None:
    """The rows of containers and nodes; None if a descheduler would find nothing to read.

    Parameters
    ----------
    containers, nodes : DataFrame
        Rows of the tables in the order of the workload.
    begin_ms : int, optional
        The beginning of a replay that starts at the moment of a list; None if times are as
        recorded.
    """
    if containers["eviction"].null_count() == containers.height or not nodes.height:
        return None
    of, texts = _distinct(containers, OF_CONTAINERS)
    node_of, node_texts = _distinct(nodes, OF_NODES)
    created = pl.coalesce(pl.col("created_ms").cast(pl.Int64), "time_ms")
    if begin_ms is not None:
        created -= (pl.col("listed_ms").cast(pl.Int64) - begin_ms).fill_null(0)
    return Written(
        containers=texts,
        container=of,
        created_ms=containers.select(created).to_series().to_numpy().astype(np.int64),
        nodes=node_texts,
        node=node_of,
    )


def _distinct(rows: pl.DataFrame, columns: Sequence[str]) -> tuple[IntArray, tuple[str, ...]]:
    """The number of each row among the distinct ones, and these as JSON."""
    known: dict[tuple[Any, ...], int] = {}
    of = [known.setdefault(row, len(known)) for row in rows.select(columns).iter_rows()]
    return np.array(of, dtype=np.int64), tuple(json.dumps(row) for row in known)
