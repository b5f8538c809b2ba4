"""All that a report may show, made up from a seed: queries, results, a run and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from report_studies_support import counted, studies
from tests_support import hex_id

from tracekit.report.data import Data
from tracekit.store.sqlfiles import all_queries, get_query

STEP_MS = 30_000
#: A node id that would run as a script if the page did not escape it.
HOSTILE = "<script>alert('node')</script>"
_TYPES: dict[str, type[pl.DataType]] = {
    "BIGINT": pl.Int64,
    "DOUBLE": pl.Float64,
    "VARCHAR": pl.String,
    "BOOLEAN": pl.Boolean,
}


def _filled(name: str, recorded: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """A query's result whose columns that are not given are missing; without rows unless given."""
    schema = pl.Schema({one.name: _TYPES[one.type] for one in get_query(name).columns})
    rows = len(next(iter(recorded.values()))) if recorded else 0
    missing = {column: [None] * rows for column in schema}
    return pl.DataFrame({**missing, **(recorded or {})}).select(schema.names()).cast(schema)


def _node_profile(nodes: int, rng: np.random.Generator) -> pl.DataFrame:
    """Profiles of nodes: correlations evenly from -0.9 to 0.9, use by chance."""
    r = np.linspace(-0.9, 0.9, nodes)
    cpu, memory = rng.uniform(0.2, 0.9, (2, nodes)).round(6)
    return _filled(
        "usage/node_profile",
        {
            "node": [hex_id("node", at) for at in range(nodes)],
            "pearson_r": r,
            "zone": np.where(r < -0.3, "A", np.where(r < 0.3, "B", "C")),
            "cpu_mean": cpu,
            "memory_mean": memory,
        },
    )


def queries(nodes: int) -> dict[str, pl.DataFrame]:
    """Results of the queries that a report reads, for so many nodes and services."""
    rng = np.random.default_rng(7)
    profile = _node_profile(nodes, rng)
    kinds = min(nodes, 40)
    given: dict[str, Mapping[str, Any]] = {
        "usage/requested_capacity": {
            "resource": ["cpu", "gpu"],
            "unit": ["cores", "count"],
            "nodes": [nodes, nodes],
            "containers": [9 * nodes, 2 * nodes],
            "at_once_share": [0.3, 0.6],
            "in_all_share": [0.7, 1.2],
        },
        "usage/zone_summary": profile.group_by("zone")
        .agg(
            pl.len().alias("nodes"),
            (pl.len() / nodes).alias("node_share"),
            pl.col("cpu_mean", "memory_mean").mean(),
        )
        .sort("zone")
        .to_dict(),
        "quality/ledger": {
            "table": ["call"] * kinds,
            "defect": [f"defect_{at:04d}" for at in range(kinds)],
            "rows": np.arange(kinds) + 1,
            "share": (np.arange(kinds) + 1) / (10 * kinds),
            "action": ["kept"] * kinds,
            "example": ["line 1"] * kinds,
        },
        **_service_queries(nodes, rng),
    }
    filled = {name: _filled(name, given.get(name)) for name in all_queries()}
    return {**filled, "usage/node_profile": profile}


def _service_queries(services: int, rng: np.random.Generator) -> dict[str, Mapping[str, Any]]:
    """Results about services: calls and CPU by chance."""
    ids = [hex_id("service", at) for at in range(services)]
    use, containers = rng.uniform(0.1, 0.9, services), np.arange(services) % 9 + 1
    amounts = {
        f"{stem}_{what}_{unit}": share * use * containers
        for stem, unit in (("cpu", "cores"), ("memory", "gib"))
        for what, share in (("requested", 3.0), ("used", 1.0), ("unused", 2.0))
    }
    demand = {
        "service": ids,
        "metric": ["providerRPC_MCR"] * services,
        "rate_mean": rng.uniform(1, 500, services),
        "minutes": [60] * services,
        "cpu_per_call": use / 100,
        "r_squared": use,
    }
    return {
        "services/demand": demand,
        "services/requests": {"service": ids, "containers": containers, **amounts},
    }


def _results(services: int) -> dict[str, pl.DataFrame]:
    """Results of the call graphs, of a fit, and of a replay of the binding to vCPUs."""
    at = np.arange(services)
    ids = [hex_id("service", one) for one in at.tolist()]
    k1 = np.linspace(0.1, 0.4, services)
    limits = {
        f"{name}{side}": value + off
        for name, value in (("k1", k1), ("k2", k1 / 4))
        for side, off in (("", 0.0), ("_low", -0.05), ("_high", 0.05))
    }
    by_name = {"service": ids, "basis": ["own"] * services, "verdict": ["usable"] * services}
    orders = at[:50]
    return {
        "callgraph/edges": pl.DataFrame(
            {
                "upstream": [None, *ids[1:]],
                "downstream": ids,
                "rpc_type": ["rpc"] * services,
                "calls": at + 1,
                "response_time_p50_ms": at * 1.0,
                "response_time_p95_ms": at * 3.0,
                "response_time_max_ms": at * 9.0,
            },
            schema_overrides={"upstream": pl.String},
        ),
        "callgraph/ledger": pl.DataFrame(
            {
                "defect": ["missing_twin", "missing_upstream", "contradicts_parent"],
                "action": ["kept", "named by twin", "left out"],
                "count": [5, 3, 1],
                "traces": [2, 2, 1],
            }
        ),
        "fit/coefficients": pl.DataFrame({**by_name, **limits, "mode": ["bound"] * services}),
        "bind/repeats": pl.DataFrame(
            {
                "repeat": np.repeat(orders, 2),
                "policy": ["interference", "lowest_free"] * len(orders),
                "inflation_vcpus": np.tile([1.0, 2.0], len(orders)) + np.repeat(k1[:50], 2),
                "inflation_mean_fraction": np.tile([0.01, 0.02], len(orders)),
            }
        ),
    }


#: Of each policy: mean imbalance, highest CPU, containers left waiting.
_Rows = Mapping[str, tuple[float, float, int]]


def summary_frame(rows: _Rows) -> pl.DataFrame:
    """``summary.parquet`` of policies."""
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


def _steps_frame(policies: list[str], steps: int) -> pl.DataFrame:
    """``steps.parquet`` of policies, by chance; the first tenth is not settled."""
    at = pl.DataFrame({"time_ms": np.arange(steps) * STEP_MS, "step": np.arange(steps)})
    rows = pl.DataFrame({"policy": policies}).join(at, how="cross", maintain_order="left_right")
    share = np.random.default_rng(11).uniform(0, 1, (3, rows.height))
    return rows.select(
        "policy",
        "time_ms",
        settled=pl.col("step") >= steps // 10,
        imbalance=share[0] / 5,
        cpu_max_fraction=0.5 + 0.6 * share[1],
        gpu_milli_allocated_share=0.5 + 0.4 * share[2],
    )


def _nodes_frame(policies: list[str], nodes: int) -> pl.DataFrame:
    """``nodes.parquet`` of policies, by chance."""
    names = pl.DataFrame({"node": [f"n{at}" for at in range(nodes)]})
    rows = pl.DataFrame({"policy": policies}).join(names, how="cross", maintain_order="left_right")
    share = np.random.default_rng(17).uniform(0, 1, (2, rows.height)).astype(np.float32)
    return rows.with_columns(cpu_mean_fraction=share[0], memory_mean_fraction=share[1])


def _repeats_frame(rows: _Rows, orders: int = 8) -> pl.DataFrame:
    """``repeats.parquet`` of policies: the first order is the summary's, others lie around it."""
    rng = np.random.default_rng(19)
    parts = []
    for order in range(orders):
        by_name = {
            policy: (z * rng.uniform(0.98, 1.02), cpu * rng.uniform(0.99, 1.01), n)
            for policy, (z, cpu, n) in rows.items()
        }
        frame = summary_frame(by_name if order else rows)
        parts.append(frame.with_columns(repeat=pl.lit(order, pl.Int64), seed=pl.lit(3, pl.Int64)))
    return pl.concat(parts, how="vertical_relaxed")


def _manifest(policies: list[str]) -> dict[str, Any]:
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


def made_up(nodes: int = 40, steps: int = 50, more: int = 0) -> Data:
    """A store and a run with so many nodes and services, steps and further policies."""
    frames, made = queries(nodes), _results(nodes)
    others = [f"policy_{at}" for at in range(more)]
    policies = ["observed", "first_fit", "least_allocated", *others]
    rows = {
        "observed": (0.2, 0.9, 0),
        "first_fit": (0.1, 1.0, 0),
        "least_allocated": (0.15, 0.8, 0),
        **{name: (0.1 + at / 1000, 0.8 + at / 500, 0) for at, name in enumerate(others)},
    }
    return Data(
        fetch=lambda name, _: frames[name],
        info={"tables": {}, "sources": []},
        run=_manifest(policies),
        results=lambda name: made.get(name, pl.DataFrame()),
        studies=studies(),
        answer=counted(),
        run_frames={
            "summary": summary_frame({**rows, "bound": (0.05, 0.7, 0)}),
            "steps": _steps_frame([*policies, "bound"], steps),
            "nodes": _nodes_frame(policies, nodes),
            "repeats": _repeats_frame(rows),
        },
    )
