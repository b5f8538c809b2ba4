"""Data for reports: frames made up from a seed."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from tests_support import hex_id

from tracekit.replay.optimize.function_study import FunctionStudy, study_functions
from tracekit.replay.placement_study import PlacementStudy, study_placement
from tracekit.replay.run_compare import CHANGES_SCHEMA
from tracekit.replay.solver_study import SolverStudy, study_solvers
from tracekit.report.data import Data
from tracekit.report.sizing_run import SizingRun
from tracekit.sizing.agent.train import Epoch
from tracekit.sizing.intervals import differences, summary
from tracekit.sizing.measures import MEASURES
from tracekit.sizing.moving import training_frame
from tracekit.sizing.verdict import claims, sentences
from tracekit.sqlfiles import get_query
from tracekit.study import Study

#: Queries of tables that have no made-up rows.
_WITHOUT_ROWS = (
    "usage/node_cohorts",
    "usage/change_causes",
    "services/alikeness",
    "calls/hot_services",
)
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
        **service_queries(nodes, rng),
        **{name: empty(name) for name in _WITHOUT_ROWS},
        "usage/containers_per_node": profile.select(
            (pl.int_range(pl.len(), dtype=pl.Int64) % 12 + 1).alias("containers"),
            pl.lit("cpu").alias("resource"),
            ((pl.col("cpu_mean") * 10).floor() / 10).alias("bin_start"),
            pl.lit(3, dtype=pl.Int64).alias("nodes"),
        ),
    }


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
    }


def _filled(name: str, known: Mapping[str, Any]) -> pl.DataFrame:
    """A query's result whose columns that are not given are missing."""
    schema = empty(name).schema
    rows = len(next(iter(known.values())))
    missing = {column: [None] * rows for column in schema.names() if column not in known}
    return pl.DataFrame({**known, **missing}).select(schema.names()).cast(schema)


def results(nodes: int) -> dict[str, pl.DataFrame]:
    """Results of the analytics and the call graphs, for so many nodes, traces and services."""
    at = np.arange(nodes)
    zones = pl.DataFrame({"zone": np.array(["A", "B", "C"])[at % 3]})
    ids = [hex_id("service", one) for one in at.tolist()]
    return {
        **interference_results(nodes),
        "analysis/zones_confidence": zones.with_columns(
            other_zone_probability=pl.Series(np.linspace(0, 1, nodes))
        ),
        "analysis/util_diff_tail": pl.DataFrame(
            {
                "zone": ["all", "A"],
                "tail_nodes": [nodes, 0],
                "tail_start": [0.3, None],
                "hill_index": [2.5, None],
                "hill_index_low": [2.0, None],
                "hill_index_high": [3.0, None],
                "ccdf_slope": [-2.4, None],
            }
        ),
        "callgraph/shapes": pl.DataFrame(
            {
                "measure": ["calls"] * nodes + ["depth"],
                "value": [*(at + 1), 3],
                "count": [*(nodes - at), 10],
            }
        ),
        "callgraph/edges": pl.DataFrame(
            {
                "upstream": [None, *ids[1:]],
                "downstream": ids,
                "rpc_type": ["rpc"] * nodes,
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
    }


def interference_results(services: int) -> dict[str, pl.DataFrame]:
    """A fit of so many services, and a replay down to the vCPU of as many orders of arrival."""
    at = np.arange(services)
    ids = [hex_id("service", one) for one in at.tolist()]
    k1 = np.linspace(0.1, 0.4, services)
    known = {"service": ids, "basis": ["own"] * services, "verdict": ["usable"] * services}
    limits = {"k1": k1, "k1_low": k1 - 0.05, "k1_high": k1 + 0.05}
    limits |= {"k2": k1 / 4, "k2_low": k1 / 4 - 0.05, "k2_high": k1 / 4 + 0.05}
    mode = {"mode": ["bound"] * services}
    policies = ["interference", "lowest_free"]
    seats = [
        (policy, core, thread) for policy in policies for core in range(4) for thread in (0, 1)
    ]
    return {
        "fit/coefficients": pl.DataFrame({**known, **limits, **mode}),
        "fit/pooled": pl.DataFrame({"k1": [0.25], "k2": [0.1], "verdict": ["usable"]}),
        "fit/rows": pl.DataFrame(
            {"service": ids, "instance": ids, "cpu": k1, "predicted": k1 * 1.01, **mode}
        ),
        "bind/repeats": pl.DataFrame(
            {
                "repeat": np.repeat(at[:50], 2),
                "policy": policies * len(at[:50]),
                "inflation_vcpus": np.tile([1.0, 2.0], len(at[:50])) + np.repeat(k1[:50], 2),
                "inflation_mean_fraction": np.tile([0.01, 0.02], len(at[:50])),
            }
        ),
        "bind/socket": pl.DataFrame(
            {
                "policy": [policy for policy, _, _ in seats],
                "node": ["n"] * len(seats),
                "socket": [0] * len(seats),
                "core": [core for _, core, _ in seats],
                "thread": [thread for _, _, thread in seats],
                "vcpu": [core + 8 * thread for _, core, thread in seats],
                "container": [None if core == 3 else f"c{core}" for _, core, _ in seats],
                "service": [None if core == 3 else ids[core % services] for _, core, _ in seats],
                "inflation_fraction": [None if core == 3 else 0.1 for _, core, _ in seats],
            }
        ),
    }


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
        "verdict": sentences(means, differences(table)),
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


@functools.cache
def studies() -> Mapping[str, Study]:
    """Small studies, run once."""
    functions = FunctionStudy(dimensions=2, runs=2, iterations=3, population=4)
    placed = study_placement(
        PlacementStudy(sets=2, containers=20, nodes=3),
        policies=("lra", "bra", "cwt", "bes", "tbesk", "first_fit"),
    )
    solved = study_solvers(SolverStudy(batches=1, batch_size=2, containers=20, nodes=3))
    found = (
        study_functions(functions),
        dataclasses.replace(
            placed,
            about={**placed.about, "solvers": dict(solved.about)},
            frames={**placed.frames, **solved.frames},
        ),
    )
    return {study.name: study for study in (*found, comparison(), varied())}


def varied() -> Study:
    """Policies under two changed assumptions, as ``tracekit vary`` leaves them."""
    ranks = pl.DataFrame(
        {
            "change": ["as assumed"] * 2 + ["node_cpu_cores=52"] * 2 + ["arrival=trace"] * 2,
            "policy": ["lra", "bra"] * 3,
            "value": [0.1, 0.2, 0.3, 0.1, 0.1, 0.2],
            "pending": [0] * 6,
            "rank": [1.0, 2.0, 2.0, 1.0, 1.0, 2.0],
        }
    )
    changes = pl.DataFrame(
        {
            "change": ["node_cpu_cores=52", "arrival=trace", "limit_factor=0"],
            "agreement": [-1.0, 1.0, None],
            "first": ["bra", "lra", None],
            "most_moved": ["lra", "lra", None],
            "places": [1.0, 0.0, None],
            "problem": [None, None, "nothing fits"],
        }
    )
    return Study(
        name="assumptions",
        about={"measure": "imbalance_mean", "policies": ["lra", "bra"]},
        frames={"ranks": ranks, "changes": changes},
    )


def comparison() -> Study:
    """Two runs compared, as ``tracekit compare`` leaves them."""
    changes = pl.DataFrame(
        [
            ("lra", "imbalance_mean", 0.1, 0.2, 0.1, 0.05, 0.15, True, "worse"),
            ("lra", "pending", 0.0, 1.0, 1.0, None, None, False, "worse"),
            ("bra", "imbalance_mean", 0.2, 0.1, -0.1, -0.2, 0.0, True, "within chance"),
            ("bra", "qos_share", 0.9, 0.9, 0.0, 0.0, 0.0, True, "same"),
        ],
        schema=CHANGES_SCHEMA,
        orient="row",
    )
    outcomes = pl.DataFrame(
        {
            "threshold": ["imbalance_mean > base"],
            "policy": ["lra"],
            "measure": ["imbalance_mean"],
            "base": [0.1],
            "new": [0.2],
            "failed": [True],
        }
    )
    about = {
        "base": "main",
        "new": "mine",
        "policies": ["lra", "bra"],
        "only_base": ["first_fit"],
        "only_new": [],
        "differs": ["seed: 0 to 1"],
    }
    return Study(
        name="comparison", about=about, frames={"changes": changes, "thresholds": outcomes}
    )


def made_up(nodes: int = 40, samples: int = 50, steps: int = 50) -> Data:
    """A store and a run with so many nodes, samples per node and steps per policy."""
    frames, made = queries(nodes, samples), results(nodes)
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
        results=lambda name: made.get(name, pl.DataFrame()),
        studies=studies(),
        sizing=sizing_run(steps, steps),
        run_frames={
            "summary": summary_frame({**rows, "bound": (0.05, 0.7, 0)}),
            "steps": steps_frame([*policies, "bound"], steps),
        },
    )
