"""A training as it went: its curve, and the limits that a few containers were given."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
import polars as pl

from tracekit.sizing.agent.train import Epoch
from tracekit.sizing.world.simset import SimulationSet
from tracekit.sizing.world.simulation import Simulation

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


#: Epochs of the moving mean and band.
WINDOW = 50


def training_frame(logs: Mapping[tuple[str, int], Sequence[Epoch]]) -> pl.DataFrame:
    """One row per policy, seed and epoch, with moving means with a band of one deviation.

    The window holds the last 50 epochs of the same phase, fewer at its beginning.
    """
    rows = [
        {"policy": policy, "seed": seed, **asdict(epoch)}
        for (policy, seed), log in logs.items()
        for epoch in log
    ]
    frame = pl.DataFrame(rows).with_columns(pl.col("loss").fill_nan(None))
    over = ["policy", "seed", "phase"]
    bands = []
    for name in ("reward", "overflow_share"):
        mean = pl.col(name).rolling_mean(WINDOW, min_samples=1).over(over)
        spread = pl.col(name).rolling_std(WINDOW, min_samples=1).fill_nan(0).fill_null(0).over(over)
        bands += [
            mean.alias(f"{name}_mean"),
            (mean - spread).alias(f"{name}_low"),
            (mean + spread).alias(f"{name}_high"),
        ]
    return frame.with_columns(*bands)
