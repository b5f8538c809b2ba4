"""Data for reports: frames made up from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from tests_support import hex_id

from tracekit.report.data import Data
from tracekit.sqlfiles import get_query

#: A node id that would run as a script if the page did not escape it.
HOSTILE = "<script>alert('node')</script>"
STEP_MS = 30_000
_TYPES: dict[str, type[pl.DataType]] = {
    "BIGINT": pl.Int64,
    "DOUBLE": pl.Float64,
    "VARCHAR": pl.String,
}


def empty(name: str) -> pl.DataFrame:
    """A query's result without rows."""
    return pl.DataFrame(schema={c.name: _TYPES[c.type] for c in get_query(name).columns})


def node_profile(nodes: int, rng: np.random.Generator) -> pl.DataFrame:
    """Profiles of nodes: correlations evenly from -0.9 to 0.9, use by chance."""
    r = np.linspace(-0.9, 0.9, nodes)
    cpu, memory = rng.uniform(0.2, 0.9, (2, nodes)).round(6)
    known = {
        "node": [hex_id("node", at) for at in range(nodes)],
        "samples": [1440] * nodes,
        "pearson_r": r,
        "zone": np.where(r < -0.3, "A", np.where(r < 0.3, "B", "C")),
        "util_diff": np.abs(cpu - memory),
        "debris": 1 - (cpu + memory) / 2,
        "strength": ["low"] * nodes,
    }
    moments = {f"cpu_{m}": cpu for m in ("mean", "median", "std", "max")}
    moments |= {f"memory_{m}": memory for m in ("mean", "median", "std", "max")}
    schema = empty("usage/node_profile").schema
    return pl.DataFrame({**known, **moments}).select(schema.names()).cast(schema)


def queries(nodes: int, samples: int) -> dict[str, pl.DataFrame]:
    """Results of the queries that figures read, for so many nodes and samples of each."""
    rng = np.random.default_rng(7)
    profile = node_profile(nodes, rng)
    summary = profile.group_by("zone").agg(
        pl.len().cast(pl.Int64).alias("nodes"),
        (pl.len() / nodes).alias("node_share"),
        pl.col("^(cpu|memory)_.*$").mean(),
        pl.col("util_diff", "debris").mean(),
    )
    bins = profile.group_by("zone", (pl.col("util_diff") * 50).floor().alias("bin_start") / 50)
    times = np.arange(samples, dtype=np.int64) * STEP_MS
    series = {"cpu_fraction": rng.uniform(0, 1, samples), "memory_fraction": [0.5] * samples}
    return {
        "usage/node_profile": profile,
        "usage/zone_summary": summary.sort("zone"),
        "usage/util_diff_by_zone": bins.agg(
            pl.len().cast(pl.Int64).alias("nodes"), (pl.len() / nodes).alias("node_share")
        ).sort("zone", "bin_start"),
        "usage/typical_nodes": profile.unique("zone", keep="first", maintain_order=True).select(
            empty("usage/typical_nodes").columns
        ),
        "usage/node_series": pl.DataFrame({"time_ms": times, **series}),
        "quality/ledger": empty("quality/ledger"),
        "quality/time_grid": empty("quality/time_grid"),
    }


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
            "nodes_used_max": 4,
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
            }
        )
        for policy in policies
    ]
    return pl.concat(parts)


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
            "facts": {"rows_stray": 1},
        },
        "policies": [{"policy": name, "parameters": {}, "source": "here"} for name in policies],
    }


def made_up(nodes: int = 40, samples: int = 50, steps: int = 50) -> Data:
    """A store and a run with so many nodes, samples per node and steps per policy."""
    frames = queries(nodes, samples)
    policies = ["observed", "first_fit", "least_allocated"]
    rows = {
        "observed": (0.2, 0.9, 0),
        "first_fit": (0.1, 1.0, 0),
        "least_allocated": (0.15, 0.8, 0),
    }
    return Data(
        fetch=lambda name, _: frames[name],
        info={"tables": {}, "sources": []},
        run=manifest(policies),
        run_frames={
            "summary": summary_frame({**rows, "bound": (0.05, 0.7, 0)}),
            "steps": steps_frame([*policies, "bound"], steps),
        },
    )
