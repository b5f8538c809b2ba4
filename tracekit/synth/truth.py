"""The planted truth as tables; no column is named as in the trace, so no reader mistakes them."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.constants import STEP_MS
from tracekit.base.units import BYTES_PER_GIB
from tracekit.synth.container_usage import UsageHour
from tracekit.synth.node_usage import NodeBlock, NodePlan
from tracekit.synth.sizes import CPU, MEMORY
from tracekit.synth.table_file import Defect
from tracekit.synth.world import World


@dataclass(frozen=True, kw_only=True)
class HourSums:
    """Sums over one hour of printed container usage, as fractions.

    Attributes
    ----------
    first_step : the step of the trace at which the hour starts
    sums : float64, shape (3, containers): samples, CPU, memory
    peaks : float64, shape (2, containers): CPU, memory
    node_cpu_fraction : float64, shape (nodes, steps of the hour)
    node_memory_peak_fraction : float64, shape (nodes,)
    """

    first_step: int
    sums: FloatArray
    peaks: FloatArray
    node_cpu_fraction: FloatArray
    node_memory_peak_fraction: FloatArray


def hour_sums(world: World, hour: UsageHour) -> HourSums:
    """Sum up one hour."""
    present, nodes = hour.present, world.preset.nodes
    cpu = np.where(present, hour.cpu_fraction, 0.0)
    cpu_sums, cpu_peaks = cpu.sum(axis=1), cpu.max(axis=1)
    cpu *= world.node_share(CPU)[:, None]
    node_cpu = _by_node(world.containers.node, nodes, cpu)
    del cpu
    memory = np.where(present, hour.memory_fraction, 0.0)
    memory_sums, memory_peaks = memory.sum(axis=1), memory.max(axis=1)
    memory *= world.node_share(MEMORY)[:, None]
    return HourSums(
        first_step=hour.first_step,
        sums=np.stack([present.sum(axis=1), cpu_sums, memory_sums]),
        peaks=np.stack([cpu_peaks, memory_peaks]),
        node_cpu_fraction=node_cpu,
        node_memory_peak_fraction=_by_node(world.containers.node, nodes, memory).max(axis=1),
    )


def _by_node(node: IntArray, nodes: int, usage: FloatArray) -> FloatArray:
    total = np.zeros((nodes, usage.shape[1]))
    np.add.at(total, node, usage)
    return total


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
        self._sums = np.zeros((3, preset.containers))
        self._peaks = np.zeros((2, preset.containers))
        self.node_cpu_fraction = np.zeros((preset.nodes, preset.steps))
        self.node_memory_peak_fraction = np.zeros(preset.nodes)

    def add(self, hour: HourSums) -> None:
        """Add one hour; sums of floats depend on their order, so hours come in theirs."""
        self._sums += hour.sums
        np.maximum(self._peaks, hour.peaks, out=self._peaks)
        steps = slice(hour.first_step, hour.first_step + hour.node_cpu_fraction.shape[1])
        self.node_cpu_fraction[:, steps] = hour.node_cpu_fraction
        self.node_memory_peak_fraction = np.maximum(
            self.node_memory_peak_fraction, hour.node_memory_peak_fraction
        )

    def table(self, world: World) -> pl.DataFrame:
        """One row per container."""
        samples, cpu, memory = self._sums
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
            "cpu_limit_cores": world.service_sizes.limit[:, CPU] / 1000,
            "memory_limit_gib": world.service_sizes.limit[:, MEMORY] / BYTES_PER_GIB,
            "cpu_request_cores": world.service_sizes.request[:, CPU] / 1000,
            "memory_request_gib": world.service_sizes.request[:, MEMORY] / BYTES_PER_GIB,
        }
    )


@dataclass(frozen=True)
class _Series:
    """One resource of a group of nodes, shape (nodes, steps)."""

    name: str
    values: FloatArray

    def columns(self) -> dict[str, FloatArray]:
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
            "cpu_cores": world.node_sizes.capacity[members, CPU] / 1000,
            "memory_gib": world.node_sizes.capacity[members, MEMORY] / BYTES_PER_GIB,
        }
    )


def _positive(steps: IntArray) -> BoolArray:
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
