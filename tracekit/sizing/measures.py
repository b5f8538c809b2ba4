"""Measures of a simulation: the quantities of the study's table 7."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracekit.analysis.metrics.load import debris_rate, utilization_difference
from tracekit.sizing.world.simulation import Simulation


@dataclass(frozen=True)
class Measure:
    """A measure's name on screens, its unit, what it is, and which end is better."""

    title: str
    unit: str
    about: str
    better: Literal["low", "high"]


#: Every measure, in the order of the table.
MEASURES: Mapping[str, Measure] = {
    "qos": Measure(
        "QoS",
        "0..1",
        "1 - cycles that overflow / cycles; after an overflow a new one begins",
        "high",
    ),
    "overflow_period_share": Measure(
        "overflow periods", "0..1", "periods in which a need was above its limit", "low"
    ),
    "container_cpu_fraction": Measure(
        "container CPU", "0..1", "served / limit, mean over containers and periods", "high"
    ),
    "container_memory_fraction": Measure(
        "container memory", "0..1", "served / limit, mean over containers and periods", "high"
    ),
    "node_cpu_fraction": Measure(
        "node CPU", "0..1", "served / capacity, mean over nodes and periods", "high"
    ),
    "node_memory_fraction": Measure(
        "node memory", "0..1", "served / capacity, mean over nodes and periods", "high"
    ),
    "node_g": Measure("node G", "0..1", "mean of |CPU - memory| utilization of nodes", "low"),
    "node_d": Measure("node D", "0..1", "debris rate of nodes, by what is used", "low"),
    "change_share": Measure(
        "changed limits", "0..1", "cycles whose limit differs from the cycle before", "low"
    ),
    "limit_cores": Measure("CPU limit", "cores", "mean over containers and periods", "low"),
    "limit_gb": Measure("memory limit", "GB", "mean over containers and periods", "low"),
    "reward": Measure("reward", "", "mean over containers of the sum over 64 cycles' time", "high"),
    "infeasible_share": Measure(
        "no room", "0..1", "decisions that no node of the container's half had room for", "low"
    ),
}
#: The reward is given for an epoch of this many cycles.
EPOCH_CYCLES = 64


def measures_of(simulation: Simulation, *, reward: float) -> dict[str, float]:
    """Every measure of a simulation that has run; ``reward`` is the sum over all of it."""
    arrays, part = simulation.arrays, simulation.part
    run = slice(simulation.start, simulation.now)
    limits, node = arrays.limits[:, run], arrays.node_share[:, run]
    cycles = float(simulation.cycles.sum())
    over = (part.need[:, run] > limits).any(axis=2)
    epochs = (simulation.now - simulation.start) / simulation.settings.cycle_periods / EPOCH_CYCLES
    share = arrays.share[:, run].mean(axis=(0, 1))
    return {
        "qos": 1.0 - float(simulation.overflow_cycles.sum()) / cycles,
        "overflow_period_share": float(over.mean()),
        "container_cpu_fraction": float(share[0]),
        "container_memory_fraction": float(share[1]),
        "node_cpu_fraction": float(node[:, :, 0].mean()),
        "node_memory_fraction": float(node[:, :, 1].mean()),
        "node_g": float(utilization_difference(node[:, :, 0], node[:, :, 1]).mean()),
        "node_d": float(debris_rate(node, np.ones(2)).mean()),
        "change_share": float(simulation.changed_cycles.sum()) / cycles,
        "limit_cores": float(limits[:, :, 0].mean()),
        "limit_gb": float(limits[:, :, 1].mean()),
        "reward": reward / part.size / epochs,
        "infeasible_share": float(simulation.infeasible.sum()) / cycles,
    }
