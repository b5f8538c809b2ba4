"""The planted truth as tables; no column is named as in the trace, so no reader mistakes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.synth.arrays import Bools, Floats, Ints
from tracekit.synth.container_usage import UsageHour
from tracekit.synth.node_usage import NodeBlock, NodePlan
from tracekit.synth.presets import STEP_MS
from tracekit.synth.table_file import Defect
from tracekit.synth.world import (
    CONTAINER_CPU_CORES,
    CONTAINER_MEMORY_GIB,
    NODE_CPU_CORES,
    NODE_MEMORY_GIB,
    World,
)


class ContainerSums:
    """Sums over time of the printed container usage, by container and by node.

    Attributes
    ----------
    node_cpu_fraction : float64, shape (nodes, steps)
        CPU of a node's containers, as a fraction of the node.
    node_memory_peak_fraction : float64, shape (nodes,)
        The most memory a node's containers hold at any time, as a fraction of the node.
    """

    def __init__(self, world: World) -> None:
        preset = world.preset
        self._node = world.containers.node
        self._sums = np.zeros((4, preset.containers))
        self._peaks = np.zeros((2, preset.containers))
        self.node_cpu_fraction = np.zeros((preset.nodes, preset.steps))
        self.node_memory_peak_fraction = np.zeros(preset.nodes)

    def add(self, hour: UsageHour) -> None:
        """Add one hour."""
        cpu = np.where(hour.present, hour.cpu_fraction, 0.0)
        memory = np.where(hour.present, hour.memory_fraction, 0.0)
        self._sums[0] += hour.present.sum(axis=1)
        self._sums[1] += cpu.sum(axis=1)
        self._sums[2] += memory.sum(axis=1)
        self._peaks = np.maximum(self._peaks, [cpu.max(axis=1), memory.max(axis=1)])
        steps = slice(hour.first_step, hour.first_step + cpu.shape[1])
        share = CONTAINER_CPU_CORES / NODE_CPU_CORES
        self.node_cpu_fraction[:, steps] = share * self._by_node(cpu)
        memory_share = CONTAINER_MEMORY_GIB / NODE_MEMORY_GIB
        peak = memory_share * self._by_node(memory).max(axis=1)
        self.node_memory_peak_fraction = np.maximum(self.node_memory_peak_fraction, peak)

    def _by_node(self, usage: Floats) -> Floats:
        total = np.zeros((len(self.node_memory_peak_fraction), usage.shape[1]))
        np.add.at(total, self._node, usage)
        return total

    def table(self, world: World) -> pl.DataFrame:
        """One row per container."""
        samples, cpu, memory, _ = self._sums
        containers = world.containers
        return pl.DataFrame(
            {
                "container_id": containers.ids,
                "service_id": world.services.ids.gather(containers.service),
                "node_id": world.nodes.ids.gather(containers.node),
                "samples": samples.astype(np.int64),
                "first_ms": containers.first_step * STEP_MS,
                "cpu_mean_fraction": cpu / samples,
                "memory_mean_fraction": memory / samples,
                "cpu_max_fraction": self._peaks[0],
                "memory_max_fraction": self._peaks[1],
                "rate_share": containers.rate_share,
            }
        )


def service_table(world: World) -> pl.DataFrame:
    """One row per service: what its containers are like, and what a call costs them."""
    services = world.services
    return pl.DataFrame(
        {
            "service_id": services.ids,
            "containers": services.sizes,
            "rate_kind": services.kind_names,
            "cpu_level_fraction": services.cpu_fraction,
            "memory_level_fraction": services.memory_fraction,
            "rate_mean_per_s": services.rate_per_s,
            "cpu_fraction_per_call_s": world.cpu_per_call_s,
            "fit_share": services.fit_share,
            "busiest_minute_factor": world.activity.max(axis=1),
            "mirrored": services.mirrored,
        }
    )


@dataclass(frozen=True)
class _Series:
    """One resource of a group of nodes, shape (nodes, steps)."""

    name: str
    values: Floats

    def columns(self) -> dict[str, Floats]:
        return {
            f"{self.name}_mean": self.values.mean(axis=1),
            f"{self.name}_median": np.median(self.values, axis=1),
            f"{self.name}_std": self.values.std(axis=1),
            f"{self.name}_max": self.values.max(axis=1),
        }


def node_rows(world: World, plan: NodePlan, block: NodeBlock) -> pl.DataFrame:
    """One row per node of a group; statistics over the printed values of its good rows.

    Standard deviations are of the population; ``util_diff`` is the mean of |CPU - memory|.
    """
    members = block.members
    counts = np.bincount(world.containers.node, minlength=world.preset.nodes)
    r = pl.Series(plan.pearson_r[members]).fill_nan(None)
    return pl.DataFrame(
        {
            "node_id": world.nodes.ids.gather(members),
            "zone": [plan.zones[member] for member in members],
            "pearson_r": r,
            "samples": np.full(len(members), block.cpu_fraction.shape[1]),
            "containers": counts[members],
            **_Series("cpu", block.cpu_fraction).columns(),
            **_Series("memory", block.memory_fraction).columns(),
            "util_diff": np.abs(block.cpu_fraction - block.memory_fraction).mean(axis=1),
            "above_one": _positive(plan.above_one_step[members]),
        }
    )


def _positive(steps: Ints) -> Bools:
    return np.asarray(steps >= 0)


def defect_table(defects: Iterable[Defect]) -> pl.DataFrame:
    """One row per planted defect, in file and line order."""
    rows = sorted(defects, key=lambda defect: (defect.source_file, defect.line))
    return pl.DataFrame(
        {
            "source_file": [row.source_file for row in rows],
            "line": [row.line for row in rows],
            "table": [row.table for row in rows],
            "defect": [row.name for row in rows],
            "action": [row.action for row in rows],
            "entity_id": [row.entity_id for row in rows],
        },
        schema_overrides={"line": pl.Int64, "entity_id": pl.String},
    )
