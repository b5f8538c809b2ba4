"""Placements and moves as frames: with positions between processes, with names in a run folder."""

from collections.abc import Iterable

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.cluster.workload import Workload

PLACED, PENDING = "placed", "pending"


def by_number(node: IntArray, time_ms: IntArray) -> pl.DataFrame:
    """One row for each container, in the order of the workload; null where it was never placed.

    Parameters
    ----------
    node, time_ms : int64, shape (containers,)
        -1 for never.

    Returns
    -------
    DataFrame
        node (the position of the node in the workload), time_ms.
    """
    frame = pl.DataFrame({"node": node.astype(np.int32), "time_ms": time_ms})
    never = pl.all() < 0
    return frame.select(pl.when(~never).then(pl.all()))


def by_name(load: Workload, found: Iterable[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """The rows of placements.parquet; all policies share the names of containers in memory.

    Parameters
    ----------
    found : iterable of (str, DataFrame)
        Each policy with its frame of ``by_number``.
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
    """The rows of moves.parquet: the evictions by the rebalancer of each policy, in order.

    Parameters
    ----------
    found : iterable of (str, DataFrame)
        Each policy with its frame of ``tracekit.replay.engine.steps.Moves``.
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
    """Counts of moves by strategy and outcome, and of containers that stay by reason.

    Returns
    -------
    DataFrame
        policy, strategy, outcome (moved, waits, same_node, stays), reason (for stays), containers
        (distinct ones) and moves.
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
