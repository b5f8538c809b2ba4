"""A few containers looked at closely: the limit each policy gave them, against their need."""

from __future__ import annotations

import numpy as np
import polars as pl

from tracekit.sizing.simset import SimulationSet
from tracekit.sizing.simulation import Simulation

#: Why a container is shown, in the order they are chosen.
REASONS = ("CPU need varies most", "memory need varies most", "CPU need varies as most do")


def chosen_containers(part: SimulationSet) -> dict[str, int]:
    """Up to three different containers, and why each; ties to the first."""
    spread = part.need.std(axis=1)
    by_cpu = np.argsort(-spread[:, 0], kind="stable")
    by_memory = np.argsort(-spread[:, 1], kind="stable")
    middle = by_cpu[np.argsort(abs(np.arange(part.size) - part.size // 2), kind="stable")]
    found: dict[str, int] = {}
    for reason, order in zip(REASONS, (by_cpu, by_memory, middle), strict=True):
        left = [int(at) for at in order if at not in found.values()]
        if left:
            found[reason] = left[0]
    return found


def series_of(simulation: Simulation, policy: str, chosen: dict[str, int]) -> pl.DataFrame:
    """Need and limit of the chosen containers in every period under one policy."""
    return pl.concat([_one(simulation, policy, why, at) for why, at in chosen.items()])


def _one(simulation: Simulation, policy: str, why: str, at: int) -> pl.DataFrame:
    part, limits = simulation.part, simulation.arrays.limits[at]
    need = part.need[at]
    return pl.DataFrame(
        {
            "policy": policy,
            "container": part.containers[at],
            "chosen_for": why,
            "time_ms": part.times_ms,
            "need_cores": need[:, 0],
            "need_gb": need[:, 1],
            "limit_cores": limits[:, 0],
            "limit_gb": limits[:, 1],
            "overflow": (need > limits).any(axis=1),
        }
    )
