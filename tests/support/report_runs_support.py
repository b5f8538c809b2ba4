"""A replay and a sizing run for reports, made up from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from report_queries_support import STEP_MS

from tracekit.report.sizing_run import SizingRun
from tracekit.sizing.agent.train import Epoch
from tracekit.sizing.intervals import summary
from tracekit.sizing.measures import MEASURES
from tracekit.sizing.training import training_frame
from tracekit.sizing.verdict import claims

#: A node id that would run as a script if the page did not escape it.
HOSTILE = "<script>alert('node')</script>"


def sizing_run(epochs: int, periods: int) -> SizingRun:
    """A sizing run of three policies, by chance."""
    rng = np.random.default_rng(13)
    policies = ["ddqn", "oracle", "percentile_request", "minimum_selection", "random_selection"]
    table = pl.DataFrame(
        [
            {"seed": 0, "policy": policy, **{name: rng.uniform(0.2, 0.9) for name in MEASURES}}
            for policy in policies
        ]
    )
    log = [
        Epoch("training", at + 1, 5, 320, rng.uniform(0, 0.3), rng.uniform(0, 90), 0.1)
        for at in range(epochs)
    ]
    series = [
        pl.DataFrame(
            {
                "policy": policy,
                "container": HOSTILE,
                "chosen_for": "CPU need varies most",
                "time_ms": np.arange(periods, dtype=np.int64) * STEP_MS,
                "need_cores": rng.uniform(0, 4, periods),
                "need_gb": rng.uniform(0, 4, periods),
                "limit_cores": rng.integers(1, 5, periods).astype(np.float64),
                "limit_gb": rng.integers(1, 5, periods).astype(np.float64),
                "overflow": rng.random(periods) < 0.1,
            }
        )
        for policy in policies
    ]
    means = summary(table)
    manifest_ = {
        "schema": "tracekit/size/1",
        "seeds": [0],
        "set": {
            "name": "made-up",
            "facts": {
                "test_containers": 4,
                "training_containers": 9,
                "periods": periods,
                "containers_without_upstream": 2,
            },
        },
        "settings": [{"name": "alpha0", "value": "0.5", "default": "0.5", "description": "K."}],
        "policies": [],
    }
    frames = {
        "summary": means,
        "claims": claims(means),
        "containers": pl.concat(series),
        "training": training_frame({("ddqn", 0): log}),
        "sensitivity": table.with_columns(variant=pl.lit("alpha0=1"), epochs=pl.lit(9)),
    }
    return SizingRun(manifest_, frames)


def summary_frame(rows: Mapping[str, tuple[float, float, int]]) -> pl.DataFrame:
    """``summary.parquet`` of policies: mean imbalance, highest CPU, containers left waiting."""
    made = [
        {
            "policy": policy,
            "placed": 10 - pending,
            "pending": pending,
            "imbalance_mean": z,
            "cpu_max_fraction": cpu,
            "overloaded_node_steps": None if policy == "bound" else 3,
            "nodes_used_mean": 4.0,
            "pending_container_steps": pending,
            "imbalance_mean_gap": None if policy == "bound" or pending else z / 2,
        }
        for policy, (z, cpu, pending) in rows.items()
    ]
    return pl.DataFrame(made, infer_schema_length=None)


def steps_frame(policies: list[str], steps: int) -> pl.DataFrame:
    """``steps.parquet`` of policies, by chance; the first tenth is not settled."""
    rng = np.random.default_rng(11)
    parts = [
        pl.DataFrame(
            {
                "policy": [policy] * steps,
                "time_ms": np.arange(steps, dtype=np.int64) * STEP_MS,
                "settled": np.arange(steps) >= steps // 10,
                "imbalance": rng.uniform(0, 0.2, steps),
                "cpu_max_fraction": rng.uniform(0.5, 1.1, steps),
                "cpu_allocated_share": rng.uniform(0.2, 0.4, steps),
                "gpu_milli_allocated_share": rng.uniform(0.5, 0.9, steps),
            }
        )
        for policy in policies
    ]
    return pl.concat(parts)


def nodes_frame(policies: list[str], nodes: int) -> pl.DataFrame:
    """``nodes.parquet`` of policies, by chance."""
    rng = np.random.default_rng(17)
    parts = [
        pl.DataFrame(
            {
                "policy": [policy] * nodes,
                "node": [f"n{at}" for at in range(nodes)],
                "cpu_mean_fraction": rng.uniform(0, 1, nodes).astype(np.float32),
                "memory_mean_fraction": rng.uniform(0, 1, nodes).astype(np.float32),
            }
        )
        for policy in policies
    ]
    return pl.concat(parts)


def repeats_frame(rows: Mapping[str, tuple[float, float, int]], orders: int = 8) -> pl.DataFrame:
    """``repeats.parquet`` of policies: the first order is the summary's, others lie around it."""
    rng = np.random.default_rng(19)
    parts = []
    for order in range(orders):
        near = {
            policy: (z * rng.uniform(0.98, 1.02), cpu * rng.uniform(0.99, 1.01), n)
            for policy, (z, cpu, n) in rows.items()
        }
        frame = summary_frame(near if order else rows)
        parts.append(frame.with_columns(repeat=pl.lit(order, pl.Int64), seed=pl.lit(3, pl.Int64)))
    return pl.concat(parts, how="vertical_relaxed")


def manifest(policies: list[str]) -> dict[str, Any]:
    """The manifest of a run of these policies."""
    return {
        "schema": "tracekit/replay/1",
        "tool_version": "0",
        "seed": 3,
        "workload": {
            "name": "made-up",
            "nodes": 4,
            "containers": 10,
            "steps": 5,
            "step_ms": STEP_MS,
            "time_min_ms": 0,
            "time_max_ms": 4 * STEP_MS,
            "settled_ms": 0,
            "assumptions": {"node_cpu_cores": 96.0, "limit_factor": 1.5, "odd": "yes"},
            "quantities": {"placement": "recorded", "use of nodes": "recorded"},
            "facts": {"rows_stray": 1},
        },
        "policies": [{"policy": name, "parameters": {}, "source": "here"} for name in policies],
    }
