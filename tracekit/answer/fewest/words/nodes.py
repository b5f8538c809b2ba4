"""What is said of nodes that go or are to be added: how many, their shapes, who runs on them."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tracekit.answer.fewest.frames import ADDED, LIKE, RUNNING
from tracekit.units import memory
from tracekit.words import agreeing, plural


def added(row: Mapping[str, Any]) -> int:
    """How many further nodes a policy needs; ``row`` is its row of the study's ``policies``."""
    known = row.get(ADDED)
    # a study of an earlier version lets none go where some are added
    return max(row["nodes"] - row["of"], 0) if known is None else int(known)


def rank(row: Mapping[str, Any]) -> tuple[bool, int]:
    """Which of two answers is better, the lower one: as ``frames.BY_NODES`` has it."""
    return added(row) > 0, int(row["nodes"])


def gone(row: Mapping[str, Any]) -> int:
    """How many of the nodes that are there can go under a policy."""
    return int(row["of"] + added(row) - row["nodes"])


_RESOURCES = ("cpu_cores", "memory_bytes", "gpu")


def shape(row: Mapping[str, Any]) -> str:
    """What a node has; ``row`` is one of the study's ``nodes``."""
    said = f"{row['cpu_cores']:g} cores and {memory(row['memory_bytes'])}"
    gpus = row.get("gpu")
    return f"{said} and {gpus:,g} {plural(gpus, 'GPU')}" if gpus else said


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


def restarted(nodes: pl.DataFrame) -> int | None:
    """How many containers production runs at the end on the nodes that go, without daemons.

    Parameters
    ----------
    nodes : DataFrame
        All nodes under one policy.

    Returns
    -------
    int or None
        None where no node goes, and where production's placement is not recorded.
    """
    gone = nodes.filter(~pl.col("kept"))
    # a study of an earlier version does not say it
    return None if RUNNING not in nodes.columns or gone.is_empty() else int(gone[RUNNING].sum())


def restarts_told(nodes: pl.DataFrame) -> str:
    """The same as a clause after a count of nodes that go; empty where it is not known."""
    count = restarted(nodes)
    if count is None:
        return ""
    if not count:
        return ", on which no container runs at the end"
    them = "[container|containers] that [runs|run] there at the end [is|are] restarted elsewhere"
    return f", and the {agreeing(count, them)}"
