"""Results of queries for reports, made up from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from tests_support import hex_id

from tracekit.store.sqlfiles import all_queries, get_query

STEP_MS = 30_000
_TYPES: dict[str, type[pl.DataType]] = {
    "BIGINT": pl.Int64,
    "DOUBLE": pl.Float64,
    "VARCHAR": pl.String,
    "BOOLEAN": pl.Boolean,
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


def _capacity(nodes: int) -> dict[str, Any]:
    """What nodes have and containers request of CPU and of GPU, which is scarcer."""
    return {
        "resource": ["cpu", "gpu"],
        "unit": ["cores", "count"],
        "nodes": [nodes, nodes],
        "containers": [9 * nodes, 2 * nodes],
        "at_once_share": [0.3, 0.6],
        "in_all_share": [0.7, 1.2],
    }


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
        **{name: empty(name) for name in all_queries()},
        "usage/node_profile": profile,
        "usage/requested_capacity": _filled("usage/requested_capacity", _capacity(nodes)),
        "usage/zone_summary": summary.sort("zone"),
        "usage/util_diff_by_zone": bins.agg(
            pl.len().cast(pl.Int64).alias("nodes"), (pl.len() / nodes).alias("node_share")
        ).sort("zone", "bin_start"),
        "usage/typical_nodes": profile.unique("zone", keep="first", maintain_order=True).select(
            empty("usage/typical_nodes").columns
        ),
        "usage/node_series": pl.DataFrame({"time_ms": times, **series}),
        "quality/ledger": ledger(min(nodes, 40)),
        "usage/memory_rise": memory_rise(profile["node"][0]),
        **service_queries(nodes, rng),
        "usage/containers_per_node": profile.select(
            (pl.int_range(pl.len(), dtype=pl.Int64) % 12 + 1).alias("containers"),
            pl.lit("cpu").alias("resource"),
            ((pl.col("cpu_mean") * 10).floor() / 10).alias("bin_start"),
            pl.lit(3, dtype=pl.Int64).alias("nodes"),
        ),
    }


def memory_rise(node: str) -> pl.DataFrame:
    """One node whose memory rises from a fifth to nine tenths in two days."""
    found = [node, 2.0, 0.2, 0.9, 0.35, 0.99, 0.1 / 0.35]
    return pl.DataFrame([found], schema=empty("usage/memory_rise").schema, orient="row")


def ledger(kinds: int) -> pl.DataFrame:
    """So many kinds of defect of a table."""
    known = {
        "table": ["call"] * kinds,
        "defect": [f"defect_{at:04d}" for at in range(kinds)],
        "rows": np.arange(kinds) + 1,
        "share": (np.arange(kinds) + 1) / (10 * kinds),
        "action": ["kept"] * kinds,
        "example": ["line 1"] * kinds,
    }
    return _filled("quality/ledger", known)


def service_queries(services: int, rng: np.random.Generator) -> dict[str, pl.DataFrame]:
    """Results about services: calls and CPU by chance; each has one container."""
    ids = [hex_id("service", at) for at in range(services)]
    use = rng.uniform(0.1, 0.9, services)
    demand = {
        "service": ids,
        "metric": ["providerRPC_MCR"] * services,
        "rate_mean": rng.uniform(1, 500, services),
        "minutes": [60] * services,
        "cpu_per_call": use / 100,
        "r_squared": use,
    }
    profile = {
        "service": ids,
        "containers": np.arange(services) % 9 + 1,
        "cpu_mean": use / 2,
        "cpu_max": use,
        "memory_mean": use / 3,
        "memory_max": use / 2,
    }
    requests = {
        "service": ids,
        "containers": np.arange(services) % 9 + 1,
        **{
            f"{stem}_{what}_{unit}": share * use * (np.arange(services) % 9 + 1)
            for stem, unit in (("cpu", "cores"), ("memory", "gib"))
            for what, share in (("requested", 3.0), ("used", 1.0), ("unused", 2.0))
        },
    }
    stays = {
        "service": ids[:1] * services,
        "container": [hex_id("container", at) for at in range(services)],
        "node": [hex_id("node", at) for at in range(services)],
        "samples": [10] * services,
        "cpu_mean": use,
        "memory_mean": use,
        "node_zone": ["C"] * services,
        "node_cpu_mean": use,
        "node_memory_mean": use,
    }
    return {
        "services/demand": _filled("services/demand", demand),
        "services/placement": _filled("services/placement", stays),
        "services/profile": _filled("services/profile", profile),
        "services/requests": _filled("services/requests", requests),
    }


def _filled(name: str, known: Mapping[str, Any]) -> pl.DataFrame:
    """A query's result whose columns that are not given are missing."""
    schema = empty(name).schema
    rows = len(next(iter(known.values())))
    missing = {column: [None] * rows for column in schema.names() if column not in known}
    return pl.DataFrame({**known, **missing}).select(schema.names()).cast(schema)
