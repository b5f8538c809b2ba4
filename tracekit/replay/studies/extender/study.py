"""Load of nodes by pod, under the extender and the default scheduler (figures 3-2 and 3-3).

Source: the author's experiment on three nodes and nine pods. Sizes are not printed, so that they
are drawn as those of ``paper000``; orders of arrival are drawn, to tell chance.
"""

import time
from collections.abc import Iterator
from dataclasses import asdict

import numpy as np
import polars as pl

from tracekit.base.progress import SILENT, Progress
from tracekit.base.seeds import stream
from tracekit.base.study import Study
from tracekit.cluster.loaders.paper000 import Paper000
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import Clock
from tracekit.replay.fast.choose import fast_placer
from tracekit.replay.studies.extender.declared import ExtenderStudy
from tracekit.replay.studies.extender.latency import PRINTED_MS, decision_times
from tracekit.replay.studies.placement.frames import use_by_count

NAME = "extender"
POLICIES = ("default_scheduler", "bnp", "cmdn[balanced=true]")
#: What the author's figures show, by the columns of the workload.
RESOURCES = {"cpu": "cpu_milli", "net": "net_kbit"}
_LOAD = pl.col("load_fraction")


def study_extender(
    study: ExtenderStudy | None = None,
    *,
    clock: Clock = time.perf_counter,
    progress: Progress = SILENT,
) -> Study:
    """Run the experiments.

    Returns
    -------
    Study
        Frames ``loads`` (requests over capacity of each node once so many containers have come, by
        policy and order), ``curves`` (its lowest and highest node, means over orders: figures 3-2
        and 3-3), ``decisions`` (each timed decision) and ``latency`` (table 3-1: mean and median by
        mode). Times are of the wall clock.
    """
    study = study or ExtenderStudy()
    with progress.task("placements", study.orders, "orders") as task:
        rows: list[pl.DataFrame] = []
        for order in range(study.orders):
            rows += _loads(study, order)
            task.advance(1)
    loads = pl.concat(rows)
    times = decision_times(
        Paper000().drawn(stream(study.seed, "workload")),
        stream(study.seed, NAME),
        decisions=study.decisions,
        clock=clock,
    )
    return Study(
        name=NAME,
        about={**asdict(study), "policies": list(POLICIES)},
        frames={
            "loads": loads,
            "curves": _curves(loads),
            "decisions": times,
            "latency": _latency(times),
        },
    )


def _loads(study: ExtenderStudy, order: int) -> Iterator[pl.DataFrame]:
    drawn = Paper000(
        seed=study.seed,
        nodes=study.nodes,
        containers=study.containers,
        target_alloc_fraction=study.target_alloc_fraction,
    ).drawn(stream(study.seed, f"order {order}"))
    for name in POLICIES:
        policy = parse_policy(name)
        outcome = Engine(
            drawn, policy, stream(study.seed, f"{name} {order}"), placer=fast_placer
        ).run()
        yield _by_count(drawn, outcome.node).with_columns(
            policy=pl.lit(name), order=pl.lit(order, pl.Int64)
        )


def _by_count(load: Workload, node: np.ndarray) -> pl.DataFrame:
    """Load of each node once 1, 2, ... containers have come."""
    columns = {name: load.resources.index(column) for name, column in RESOURCES.items()}
    return pl.DataFrame(
        [
            {"containers": count, "resource": name, "node": load.node_ids[at], "load_fraction": use}
            for count in range(1, load.containers + 1)
            for name, column in columns.items()
            for at, use in enumerate(use_by_count(load, node, count)[:, column].tolist())
        ]
    )


def _curves(loads: pl.DataFrame) -> pl.DataFrame:
    keys = ["policy", "resource", "containers"]
    each = loads.group_by(*keys, "order", maintain_order=True).agg(
        _LOAD.min().alias("low_fraction"), _LOAD.max().alias("high_fraction")
    )
    return each.group_by(keys, maintain_order=True).agg(
        pl.col("low_fraction", "high_fraction").mean(),
        (pl.col("high_fraction") - pl.col("low_fraction")).mean().alias("spread_fraction"),
    )


def _latency(times: pl.DataFrame) -> pl.DataFrame:
    printed = pl.DataFrame({"mode": list(PRINTED_MS), "printed_mean_ms": PRINTED_MS.values()})
    return (
        times.group_by("mode", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("decisions"),
            pl.col("took_ms").mean().alias("mean_ms"),
            pl.col("took_ms").median().alias("median_ms"),
            pl.col("took_ms").quantile(0.95).alias("p95_ms"),
        )
        .join(printed, on="mode", maintain_order="left")
    )
