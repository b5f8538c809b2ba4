"""What nodes have, in words: the shapes of those that go or are to be added."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tracekit.replay.studies.shrink.frames import LIKE
from tracekit.units import memory

_RESOURCES = ("cpu_cores", "memory_bytes", "gpu")


def shape(row: Mapping[str, Any]) -> str:
    """What a node has; ``row`` is one of the study's ``nodes``."""
    said = f"{row['cpu_cores']:g} cores and {memory(row['memory_bytes'])}"
    gpus = row.get("gpu")
    return f"{said} and {gpus:,g} GPU{'s' * (gpus != 1)}" if gpus else said


def by_shape(nodes: pl.DataFrame) -> pl.DataFrame:
    """How many nodes there are of each shape, and like which, the most first."""
    resources = [name for name in _RESOURCES if name in nodes.columns]
    rows = nodes.group_by(resources, maintain_order=True).agg(pl.len(), pl.col(LIKE).unique())
    rows = rows.sort("len", descending=True, maintain_order=True)
    shapes = [shape(row) for row in rows.iter_rows(named=True)]
    return pl.DataFrame({"shape": shapes, "nodes": rows["len"], LIKE: rows[LIKE]})


def of_added(nodes: pl.DataFrame) -> str:
    """What the nodes to add have, a clause; empty where all nodes there are of one shape.

    Parameters
    ----------
    nodes : DataFrame
        All nodes under one policy.
    """
    more = by_shape(nodes.filter(pl.col(LIKE).is_not_null()))
    if more.is_empty() or by_shape(nodes.filter(pl.col(LIKE).is_null())).height < 2:
        return ""
    if more.height == 1:
        return f" with {more['shape'][0]}{' each' if more['nodes'][0] > 1 else ''}"
    listed = [f"{row['nodes']:,} with {row['shape']}" for row in more.iter_rows(named=True)]
    return f" ({', '.join(listed)})"
