"""Results of the analytics, the call graphs, a fit and its binding, made up."""

from __future__ import annotations

import numpy as np
import polars as pl
from tests_support import hex_id


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
    bindings = [
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
                "policy": [policy for policy, _, _ in bindings],
                "node": ["n"] * len(bindings),
                "socket": [0] * len(bindings),
                "core": [core for _, core, _ in bindings],
                "thread": [thread for _, _, thread in bindings],
                "vcpu": [core + 8 * thread for _, core, thread in bindings],
                "container": [None if core == 3 else f"c{core}" for _, core, _ in bindings],
                "service": [None if core == 3 else ids[core % services] for _, core, _ in bindings],
                "inflation_fraction": [None if core == 3 else 0.1 for _, core, _ in bindings],
            }
        ),
    }
