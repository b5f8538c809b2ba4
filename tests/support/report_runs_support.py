"""A replay and a sizing run for reports, made up from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from report_queries_support import STEP_MS

#: A node id that would run as a script if the page did not escape it.
HOSTILE = "<script>alert('node')</script>"


def summary_frame(rows: Mapping[str, tuple[float, float, int]]) -> pl.DataFrame:
    """``summary.parquet`` of policies: mean imbalance, highest CPU, containers left waiting."""
    made = [
        {
            "policy": policy,
            "placed": 10 - pending,
            "pending": pending,
            "imbalance_mean": z,
            "cpu_max_fraction": cpu,
            "cpu_p99_over_time_fraction": cpu,
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
