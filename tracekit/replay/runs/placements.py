"""Placements and moves as frames: in few bytes between processes, with names in a run folder."""

from collections.abc import Iterable

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.cluster.workload import Workload

PLACED, PENDING = "placed", "pending"


def by_number(node: IntArray, time_ms: IntArray) -> pl.DataFrame:
    """One row for each container of the workload, in its order; null for never.

    Parameters
    ----------
    node, time_ms : int64, shape (containers,)
        -1 for never.

    Returns
    -------
    DataFrame
        node (its position in the workload), time_ms.
    """
    frame = pl.DataFrame({"node": node.astype(np.int32), "time_ms": time_ms})
    never = pl.all() < 0
    return frame.select(pl.when(~never).then(pl.all()))


def by_name(load: Workload, found: Iterable[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """The rows of placements.parquet; names of containers are in memory once for all policies.

    Parameters
    ----------
    found : iterable of (str, DataFrame)
        Policies, with what ``by_number`` gave for each.
    """
    nodes = pl.Series("node", load.nodes.ids, dtype=pl.String)
    container = pl.Series("container", load.containers.ids, dtype=pl.String)
    service = pl.Series("service", load.containers.services, dtype=pl.String)
    outcome = pl.when(pl.col("node").is_null()).then(pl.lit(PENDING)).otherwise(pl.lit(PLACED))
    return pl.concat(
        [
            pl.select(policy=pl.repeat(policy, len(container), dtype=pl.String)).hstack(
                [container, service, nodes.gather(frame["node"]), frame["time_ms"],
                 frame.select(outcome.alias("outcome")).to_series()]
            )
            for policy, frame in found
        ]
    )  # fmt: skip


def moves_by_name(load: Workload, found: Iterable[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """The rows of moves.parquet: what the rebalancer of each policy evicted, in its order.

    Parameters
    ----------
    found : iterable of (str, DataFrame)
        Policies, with what ``tracekit.replay.engine.steps`` gave for each.
    """
    nodes = pl.Series(load.nodes.ids, dtype=pl.String)
    containers = pl.Series(load.containers.ids, dtype=pl.String)
    return pl.concat(
        frame.select(
            pl.lit(policy).alias("policy"),
            "time_ms",
            containers.gather(frame["container"]).alias("container"),
            nodes.gather(frame["from_node"]).alias("from_node"),
            nodes.gather(frame["to_node"]).alias("to_node"),
            "strategy",
        )
        for policy, frame in found
    )


def moves_by_class(moves: pl.DataFrame, stays: pl.DataFrame) -> pl.DataFrame:
    """How many a strategy moved and to where, and how many stay for which reason.

    Returns
    -------
    DataFrame
        policy, strategy, outcome (moved, waits, same_node, stays), reason (of who stays),
        containers (each once) and moves.
    """
    to = pl.col("to_node")
    outcome = pl.when(to.is_null()).then(pl.lit("waits")).when(to == pl.col("from_node"))
    gone = moves.group_by(
        "policy",
        "strategy",
        outcome.then(pl.lit("same_node")).otherwise(pl.lit("moved")).alias("outcome"),
        pl.lit(None, pl.String).alias("reason"),
        maintain_order=True,
    ).agg(pl.col("container").n_unique().cast(pl.Int64).alias("containers"),
          pl.len().cast(pl.Int64).alias("moves"))  # fmt: skip
    left = stays.select(
        "policy", "strategy", pl.lit("stays").alias("outcome"), "reason", "containers",
        pl.lit(None, pl.Int64).alias("moves"),
    )  # fmt: skip
    return pl.concat([gone, left]).sort("policy", "strategy", "outcome", maintain_order=True)
