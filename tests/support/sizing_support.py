"""Small simulation sets for the sizing tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from tracekit.sizing.read import CALLS, MEMBERS, STATES
from tracekit.sizing.world.simset import SimulationSet

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "golden" / "sizing.json").read_text()
)["cases"]
PERIOD_MS = 30_000


def set_of(
    need: ArrayLike,
    *,
    chain: ArrayLike | None = None,
    edges: ArrayLike = (),
    calls: ArrayLike = (),
) -> SimulationSet:
    """A set with these needs, shape (containers, periods, 2); one chain unless told."""
    needs = np.asarray(need, dtype=np.float64)
    containers, periods = needs.shape[:2]
    ends = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    return SimulationSet(
        name="made",
        containers=tuple(f"c{at}" for at in range(containers)),
        chain=np.zeros(containers, np.int64) if chain is None else np.asarray(chain, np.int64),
        need=needs,
        times_ms=np.arange(periods, dtype=np.int64) * PERIOD_MS,
        edges=ends,
        calls=np.asarray(calls, dtype=np.float64).reshape(len(ends), periods),
    )


def random_set(seed: int, containers: int = 12, periods: int = 60) -> SimulationSet:
    """Needs that drift and jump, chains of three with calls from each to the next."""
    rng = np.random.default_rng(seed)
    level = rng.uniform(0.3, 2.5, (containers, 1, 2))
    need = np.clip(level + rng.normal(0, 0.25, (containers, periods, 2)), 0.0, 4.0)
    edges = [(at, at + 1) for at in range(containers - 1) if at % 3 != 2]
    calls = rng.poisson(2.0, (len(edges), periods))
    return set_of(need, chain=np.arange(containers) // 3, edges=edges, calls=calls)


def written_set(folder: Path, *, containers: int, periods: int) -> Path:
    """A simulation set on ten chains, as the files of ``tracekit callgraph --export``."""
    made = random_set(11, containers=containers, periods=periods)
    ids = np.array(made.containers)
    times, numbers = np.meshgrid(made.times_ms, np.arange(containers), indexing="ij")
    pl.DataFrame(
        {
            "timestamp": times.ravel(),
            "containerID": ids[numbers.ravel()],
            "cpuNeed": made.need[:, :, 0].T.ravel(),
            "memNeed": made.need[:, :, 1].T.ravel(),
        }
    ).write_csv(folder / STATES)
    edge, period = np.nonzero(made.calls)
    pl.DataFrame(
        {
            "timestamp": made.times_ms[period],
            "UM": ids[made.edges[edge, 0]],
            "DM": ids[made.edges[edge, 1]],
            "calls": made.calls[edge, period].astype(np.int64),
        }
    ).write_csv(folder / CALLS)
    pl.DataFrame({"chain": made.chain, "containerID": ids}).write_csv(folder / MEMBERS)
    return folder
