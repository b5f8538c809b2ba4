"""Stores with node, container and rate rows given as frames, for tests of the analytics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store

STEP_MS = 30_000

_FILES = {
    "Node_0.csv": {
        "time_ms": "timestamp",
        "node": "nodeid",
        "cpu": "node_cpu_usage",
        "memory": "node_memory_usage",
    },
    "MSResource_0.csv": {
        "time_ms": "timestamp",
        "service": "msname",
        "container": "msinstanceid",
        "node": "nodeid",
        "cpu": "instance_cpu_usage",
        "memory": "instance_memory_usage",
    },
    "MSRTQps_0.csv": {
        "time_ms": "timestamp",
        "service": "msname",
        "container": "msinstanceid",
        "metric": "metric",
        "value": "value",
    },
}


def usage_store(
    folder: Path,
    *,
    nodes: pl.DataFrame | None = None,
    containers: pl.DataFrame | None = None,
    rates: pl.DataFrame | None = None,
) -> Store:
    """A store of these rows: ``time_ms``, ids, ``cpu`` and ``memory`` (rates: metric, value)."""
    traces = folder / "traces"
    traces.mkdir(parents=True)
    for (name, columns), frame in zip(_FILES.items(), (nodes, containers, rates), strict=True):
        if frame is not None:
            frame.select(list(columns)).rename(columns).write_csv(traces / name)
    ingest(traces, folder / "store")
    return open_store(folder / "store")


def random_usage(
    rng: np.random.Generator, *, nodes: int = 6, containers: int = 20, steps: int = 40
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Node rows and container rows of a made-up cluster, with samples missing here and there."""
    at = pl.Series("time_ms", np.arange(steps) * STEP_MS)
    node = pl.DataFrame({"node": [f"n{k}" for k in range(nodes)]})
    box = pl.DataFrame(
        {
            "container": [f"c{k:02}" for k in range(containers)],
            "service": [f"s{k % 4}" for k in range(containers)],
            "node": [f"n{k}" for k in rng.integers(nodes, size=containers)],
        }
    )
    return tuple(_sampled(rng, entities, at) for entities in (node, box))  # type: ignore[return-value]


def _sampled(rng: np.random.Generator, entities: pl.DataFrame, times: pl.Series) -> pl.DataFrame:
    rows = entities.join(times.to_frame(), how="cross").sample(fraction=0.9, seed=1)
    return rows.with_columns(
        cpu=pl.Series(rng.uniform(0.05, 0.95, rows.height)),
        memory=pl.Series(rng.uniform(0.3, 0.8, rows.height)),
    )
