"""Runs and counts made by hand, for the decision and the pages that print it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit.answer.counts import Case, Count, Fullest
from tracekit.answer.decide import Evidence, choose
from tracekit.base.files.result_folder import checksum, sealed
from tracekit.policy.placement import all_policies
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED

CPU, MEMORY = "cpu_p99_over_time_fraction", "memory_max_fraction"
HOUR_MS = 3_600_000
KNOWN = {"requests": "recorded", "node sizes": "recorded", "use of containers": "recorded"}


def results_of(
    values: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    nodes: int = 100,
    hours: int = 12,
    quantities: Mapping[str, str] = KNOWN,
    alone: str = "",
) -> Results:
    """A run of policies with these values of measures, one for each order of arrival.

    What is not given is 0 (overload, waiting) or half (use).
    """
    usual = {CPU: 0.5, MEMORY: 0.5, "nodes_used_mean": float(nodes),
             "overloaded_node_steps": 0.0, "pending": 0.0}  # fmt: skip
    rows: list[dict[str, Any]] = []
    for policy, given in values.items():
        orders = max((len(one) for one in given.values()), default=1)
        for at in range(orders):
            own = {name: one[at % len(one)] for name, one in given.items()}
            rows.append({"policy": policy, "repeat": at, "seed": at, **usual, **own})
    frame = pl.DataFrame(rows, infer_schema_length=None)
    recorded = all_policies()
    kinds = {name: recorded[name].used_by if name in recorded else "paper" for name in values}
    manifest = {
        "workload": {
            "nodes": nodes,
            "containers": 10 * nodes,
            "steps": 144,
            "settled_steps": 144,
            "step_ms": 300_000,
            "time_min_ms": 0,
            "time_max_ms": hours * HOUR_MS - 300_000,
            "containers_that_may_wait": 0,
            "quantities": dict(quantities),
            "assumptions": {"node_cpu_cores": 96.0, "node_memory_bytes": 412316860416},
        },
        "policies": [
            {"policy": name, "name": name, "used_by": kinds[name], "placements": f"{at}"}
            for at, name in enumerate(values)
        ],
        "repeats_cover": ["order of arrival"],
        "repeats_none": alone,
    }
    first = frame.filter(repeat=0).drop("repeat", "seed")
    repeats = frame if frame["repeat"].max() else None
    return Results(manifest, first.with_columns(pending_container_steps=0), repeats)


def draws(mean: float, spread: float, seed: int, orders: int = 6) -> list[float]:
    """Values of a measure over orders of arrival."""
    return [float(one) for one in np.random.default_rng(seed).normal(mean, spread, orders)]


def count_of(
    case: Case, nodes: int | None, policy: str = "default_scheduler", **given: Any
) -> Count:
    """A count of 100 nodes; each order of arrival needs as many."""
    usual: dict[str, Any] = {
        "of": 100,
        "bound": None if nodes is None else max(nodes - 5, 1),
        "by_order": () if nodes is None else (nodes,) * 6,
        "fullest": (Fullest(node="node-7", measure=CPU, value=0.78),
                    Fullest(node="node-9", measure=MEMORY, value=0.61)),
        "restarted": 40,
    }  # fmt: skip
    return Count(case=case, policy=policy, nodes=nodes, **{**usual, **given})


def evidence_of(
    result: Results | None = None, *, named: Sequence[str] = (), **given: Any
) -> Evidence:
    """Evidence of a run; production is at half of its nodes' CPU, and nothing was counted."""
    result = result or results_of(
        {OBSERVED: {CPU: [0.6] * 6}, "default_scheduler": {CPU: draws(0.6, 0.01, 1)}}
    )
    usual: dict[str, Any] = {
        "choice": choose(result, named=named),
        "counts": {},
        "today": (Fullest(node="node-1", measure=CPU, value=0.6),
                  Fullest(node="node-2", measure=MEMORY, value=0.5)),
        "ceiling": {"cpu": 0.8, "memory": 0.9},
        "use_over_requested": {"cpu": 0.7, "memory": 0.8},
    }  # fmt: skip
    return Evidence(results=result, **{**usual, **given})


def five_cases() -> dict[str, Evidence]:
    """One of each kind of cluster that a first page has to be plain about."""
    assumed = results_of(
        {OBSERVED: {CPU: [0.6] * 6}, "default_scheduler": {CPU: draws(0.6, 0.01, 1)}},
        quantities={**KNOWN, "requests": "assumed", "node sizes": "assumed"},
    )
    prices: dict[str, Any] = {"cost_per_hour": 76.8, "currency": "USD"}
    return {
        "room": evidence_of(counts={"recorded": count_of("recorded", 72)}),
        "requests_below_use": evidence_of(
            counts={
                "recorded": count_of("recorded", None),
                "recommended": count_of("recommended", 64, cost_per_hour=49.2),
            },
            use_over_requested={"cpu": 1.31, "memory": 0.7},
            **prices,
        ),
        "above_ceiling": evidence_of(
            counts={
                "recorded": count_of("recorded", None),
                "no_more_often": count_of("no_more_often", 91),
            },
            today=(Fullest(node="node-1", measure=CPU, value=0.93),
                   Fullest(node="node-2", measure=MEMORY, value=0.5)),
            broken=("node-1", "node-3"),
        ),
        "special_and_prices": evidence_of(
            counts={"recorded": count_of("recorded", 80, cost_per_hour=61.4)}, **prices
        ),
        "assumed": evidence_of(
            assumed,
            counts={
                "recorded": count_of("recorded", 90),
                "half_size": count_of("half_size", 97),
                "twice_size": count_of("twice_size", 84),
            },
            use_over_requested={},
        ),
    }  # fmt: skip


def resealed(folder: Path) -> Path:
    """A result whose files a test has changed, as if they had been written so."""
    path = folder / "manifest.json"
    document = json.loads(path.read_text())
    sums = {name: checksum(folder / name) for name in document["checksums"]}
    path.write_text(json.dumps(sealed({**document, "checksums": sums})))
    return folder
