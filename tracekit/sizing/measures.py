"""Measures of sizing policies, means over seeds, and duels of the agent with its rivals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from tracekit.analysis.metrics.load import debris_rate, utilization_difference
from tracekit.base.arrays import FloatArray
from tracekit.replay.chance import errors_of
from tracekit.sizing.world.simulation import Simulation


@dataclass(frozen=True)
class Measure:
    """A measure: its title, unit and definition, and whether low or high values are better."""

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
#: The number of cycles of an epoch, to which rewards are scaled.
EPOCH_CYCLES = 64


def measures_of(simulation: Simulation, *, reward: float) -> dict[str, float]:
    """Return every measure of a finished simulation; ``reward`` is the sum of its rewards."""
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


AGENT = "ddqn"


def interval(values: FloatArray) -> tuple[float, float | None, float | None]:
    """Return the mean over seeds and its 95 % interval by Student's t.

    Both ends of the interval are None for a single seed.
    """
    mean = float(values.mean())
    if len(values) < 2:
        return mean, None, None
    error = float(values.std(ddof=1)) / np.sqrt(len(values))
    half = errors_of(len(values), 1) * error
    return mean, mean - half, mean + half


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each policy and measure, with the mean over seeds and its 95 % interval.

    Columns: policy, measure, mean, low, high and seeds, the number of seeds.
    """
    rows = []
    for (policy,), frame in table.group_by("policy", maintain_order=True):
        for measure in MEASURES:
            values = frame[measure].to_numpy()
            rows.append((policy, measure, *interval(values), len(values)))
    return _frame(rows, ["policy", "measure", "mean", "low", "high", "seeds"])


def differences(table: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each agent, other policy and measure: the mean of agent minus policy.

    Differences are taken seed by seed. Columns: agent, policy, measure, mean, low, high and seeds.
    """
    rows = []
    frames = {str(key[0]): frame for key, frame in table.group_by("policy", maintain_order=True)}
    for agent in (name for name in frames if is_agent(name)):
        for other in (name for name in frames if name != agent):
            for measure in MEASURES:
                gap = (frames[agent][measure] - frames[other][measure]).to_numpy()
                rows.append((agent, other, measure, *interval(gap), len(gap)))
    return _frame(rows, ["agent", "policy", "measure", "mean", "low", "high", "seeds"])


def is_agent(policy: str) -> bool:
    """Return whether a policy, as text ``NAME[param=value,...]``, is the agent ``ddqn``."""
    return policy.partition("[")[0] == AGENT


def _frame(rows: Sequence[tuple[object, ...]], names: list[str]) -> pl.DataFrame:
    kinds = {"mean": pl.Float64, "low": pl.Float64, "high": pl.Float64, "seeds": pl.Int64}
    schema = {name: kinds.get(name, pl.String) for name in names}
    return pl.DataFrame(rows, schema=schema, orient="row")


#: The measures that decide a duel: quality of service, and use of limits.
DECIDING = ("qos", "container_cpu_fraction", "container_memory_fraction")
#: The names of the rivals in duels.
RIVALS = ("percentile_request", "vertical_pod_autoscaler")
#: Smaller differences do not count.
SAME = 0.005


@dataclass(frozen=True)
class Duel:
    """The comparison of the agent with a rival policy by the measures in ``DECIDING``.

    Parameters
    ----------
    better, worse : tuple of str
        The measures in which the agent is better or worse.
    means : dict
        The means of agent and rival by measure.
    """

    agent: str
    rival: str
    better: tuple[str, ...]
    worse: tuple[str, ...]
    means: dict[str, tuple[float, float]]

    @property
    def beats(self) -> bool:
        """Whether the agent is better in at least one deciding measure, and worse in none."""
        return bool(self.better) and not self.worse


def duels(summary: pl.DataFrame, differences: pl.DataFrame) -> list[Duel]:
    """Return the duel of each agent with each rival; duels that the agent does not win come first.

    A difference counts if it is at least 0.005 and, with several seeds, its interval excludes 0.
    """
    means = {(row["policy"], row["measure"]): row["mean"] for row in summary.to_dicts()}
    every = []
    pairs = differences.select("agent", "policy").unique(maintain_order=True).rows()
    for agent, rival in pairs:
        if rival.partition("[")[0] not in RIVALS:
            continue
        gaps = differences.filter(agent=agent, policy=rival).to_dicts()
        signs = {row["measure"]: _sign(row) for row in gaps if row["measure"] in DECIDING}
        both = {name: (means[agent, name], means[rival, name]) for name in DECIDING}
        better = tuple(name for name in DECIDING if signs[name] > 0)
        worse = tuple(name for name in DECIDING if signs[name] < 0)
        every.append(Duel(agent, rival, better, worse, both))
    return sorted(every, key=lambda duel: duel.beats)


def _sign(row: dict[str, float | None]) -> int:
    mean, low, high = row["mean"] or 0.0, row["low"], row["high"]
    doubtful = low is not None and high is not None and low <= 0 <= high
    return 0 if doubtful or abs(mean) < SAME else (1 if mean > 0 else -1)
