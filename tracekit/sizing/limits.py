"""What a policy chose for every tested container, as one limit that a replay can take."""

from __future__ import annotations

import polars as pl

from tracekit.sizing.simulation import Simulation


def limits_of(simulation: Simulation, policy: str, seed: int) -> pl.DataFrame:
    """The largest limit that each container was given: policy, seed, container, cores and GB."""
    largest = simulation.arrays.limits.max(axis=1)
    return pl.DataFrame(
        {
            "policy": policy,
            "seed": seed,
            "container": simulation.part.containers,
            "limit_cores": largest[:, 0],
            "limit_gb": largest[:, 1],
        }
    )
