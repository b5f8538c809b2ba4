"""The use of nodes over time, with an exact planted correlation of CPU and memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.constants import STEP_MS, ZONE_LIMIT
from tracekit.synth import shapes
from tracekit.synth.presets import STEPS_PER_HOUR, Preset
from tracekit.synth.shapes import Seeds
from tracekit.synth.world import World

#: Shares of the zones of the correlation r: A below -0.3, B up to 0.3, C from 0.3 on, U undefined.
ZONE_SHARES = {"A": 0.16, "B": 0.35, "C": 0.46, "U": 0.03}
ZONE_RANGES = {"A": (-0.90, -0.35), "B": (-0.25, 0.25), "C": (0.35, 0.95)}
#: The share of nodes whose r is within 0.02 of an edge, which exposes a wrong comparison.
NEAR_EDGE_SHARE = 0.05
#: The share of nodes (at least three) with one sample above their capacity.
ABOVE_ONE_SHARE = 0.002


@dataclass(frozen=True)
class _Noise:
    """The variation of background use over time.

    Parameters
    ----------
    sd : float
        Standard deviation of the noise of CPU.
    keep : float
        Its autocorrelation from step to step.
    bound : float
        Its limit, in standard deviations.
    memory_sd : float
        Median standard deviation of memory.
    swing : float
        Height of the daily curve.
    """

    sd: float
    keep: float
    bound: float
    memory_sd: float
    swing: float


FREE = _Noise(0.060, 0.68, shapes.BOUND, 0.0009, 0.035)
#: The noise of nodes below the ceiling, with the same median change from sample to sample.
BOUNDED = _Noise(0.056, 0.0, 1.0, 0.0004, 0.010)
#: The CPU from which background use yields; the steps and the range of busy special nodes.
GIVES_WAY, BUSY_STEPS, BUSY = 0.795, 236, (0.83, 0.86)


@dataclass(frozen=True, kw_only=True)
class NodePlan:
    """The planted properties of the nodes' series.

    Parameters
    ----------
    zones : list of str
        'A', 'B', 'C' or 'U' for each node.
    pearson_r : float64, shape (nodes,)
        Correlation of CPU and memory; NaN for nodes of constant memory.
    above_one_step : int64, shape (nodes,)
        The step at which a node's CPU exceeds 1, -1 for none.
    """

    zones: list[str]
    pearson_r: FloatArray
    above_one_step: IntArray


@dataclass(frozen=True, kw_only=True)
class NodeBlock:
    """Use of a group of nodes as printed in the trace; arrays of shape (members, steps)."""

    members: IntArray
    cpu_fraction: FloatArray
    memory_fraction: FloatArray


def plan_nodes(preset: Preset, seeds: Seeds) -> NodePlan:
    """Draw a zone and a correlation for every node."""
    rng = seeds.stream("node zones")
    zones = _zones(rng, preset.nodes)
    r = np.full(preset.nodes, np.nan)
    for zone, (low, high) in ZONE_RANGES.items():
        members = np.array([name == zone for name in zones])
        r[members] = low + (high - low) * shapes.strata(rng, int(members.sum()))
    with_r = np.flatnonzero(~np.isnan(r))
    at_edge = with_r[rng.random(len(with_r)) < NEAR_EDGE_SHARE]
    side = np.where(rng.random(len(at_edge)) < 0.5, -1, 1)
    r[at_edge] = side * (
        ZONE_LIMIT + rng.uniform(0.001, 0.02, len(at_edge)) * rng.choice([-1, 1], len(at_edge))
    )
    above = np.full(preset.nodes, -1, dtype=np.int64)
    count = min(preset.nodes, max(3, round(ABOVE_ONE_SHARE * preset.nodes)))
    chosen = rng.choice(preset.nodes, size=count, replace=False)
    above[chosen] = rng.integers(1, preset.steps // 2, size=count)
    return NodePlan(zones=[zone_of(value) for value in r], pearson_r=r, above_one_step=above)


def zone_of(pearson_r: float) -> str:
    """Return the zone of a correlation of CPU and memory; NaN is U.

    A is below -0.3, B from -0.3 up to but without 0.3, and C from 0.3 on.
    """
    if np.isnan(pearson_r):
        return "U"
    if pearson_r < -ZONE_LIMIT:
        return "A"
    return "B" if pearson_r < ZONE_LIMIT else "C"


def _zones(rng: np.random.Generator, count: int) -> list[str]:
    names = list(ZONE_SHARES)
    edges = np.cumsum(list(ZONE_SHARES.values()))[:-1]
    zones = [names[at] for at in np.searchsorted(edges, shapes.strata(rng, count), side="right")]
    for zone in names:
        if zone not in zones and count >= len(names):
            zones[zones.index(max(set(zones), key=zones.count))] = zone
    return zones


def node_blocks(
    world: World, plan: NodePlan, cpu_below: FloatArray, memory_below: FloatArray
) -> Iterator[NodeBlock]:
    """Yield the nodes' series, a group of nodes at a time, in random order.

    Parameters
    ----------
    cpu_below : float64, shape (nodes, steps)
        CPU of the containers of each node, as a fraction of the node; a lower limit of its use.
    memory_below : float64, shape (nodes,)
        The largest memory of the containers of each node, as a fraction of the node.
    """
    order = world.seeds.stream("node blocks").permutation(world.preset.nodes)
    size = world.preset.block_entities
    for number, start in enumerate(range(0, len(order), size)):
        members = order[start : start + size]
        rng = world.seeds.stream("node noise", number)
        cpu = _cpu(world, plan, rng, members, cpu_below[members])
        level = np.maximum(world.nodes.memory_level[members], 1.2 * memory_below[members] + 0.01)
        room = np.minimum(level - memory_below[members], 1 - level)
        usual = (FREE if world.planted is None else BOUNDED).memory_sd
        memory = level[:, None] + _memory_swing(rng, plan.pearson_r[members], cpu, room, usual)
        yield NodeBlock(members=members, cpu_fraction=cpu, memory_fraction=memory)


def _cpu(
    world: World, plan: NodePlan, rng: np.random.Generator, members: IntArray, below: FloatArray
) -> FloatArray:
    """CPU of nodes: the use of containers plus background use, which is always positive."""
    level = world.nodes.cpu_level[members]
    others = np.maximum(level - below.mean(axis=1), 0.3 * level)
    steps = below.shape[1]
    hour = shapes.START_HOUR + np.arange(steps) / STEPS_PER_HOUR
    calm = np.clip((1 - level) / 0.3, 0.2, 1.2)
    kind = BOUNDED if world.planted is not None else FREE
    noise = shapes.bounded(shapes.autoregressive(rng, len(members), steps, kind.keep), kind.bound)
    swing = kind.swing * rng.uniform(0.5, 1.5, (len(members), 1)) * shapes.daily(hour)
    cpu = below + others[:, None] * (1 + calm[:, None] * (swing + kind.sd * noise))
    if world.planted is not None:
        _keep_below_ceiling(world, rng, members, below, cpu)
    planted = np.flatnonzero(plan.above_one_step[members] >= 0)
    cpu[planted, plan.above_one_step[members[planted]]] = 1 + rng.uniform(0.01, 0.08, len(planted))
    return np.asarray(cpu)


def _keep_below_ceiling(
    world: World, rng: np.random.Generator, members: IntArray, below: FloatArray, cpu: FloatArray
) -> None:
    """Limit CPU to the ceiling by reducing background use; special nodes are busy at first."""
    np.minimum(cpu, np.maximum(below * 1.01, GIVES_WAY), out=cpu)
    special = np.flatnonzero(world.node_sizes.special[members])
    cpu[special, :BUSY_STEPS] = rng.uniform(*BUSY, (len(special), BUSY_STEPS))


def _memory_swing(
    rng: np.random.Generator, pearson_r: FloatArray, cpu: FloatArray, room: FloatArray, usual: float
) -> FloatArray:
    """Memory around its mean, whose sample correlation with ``cpu`` is the planted r.

    c is the standardised CPU, and e is noise that is orthogonal to c. Then r c + sqrt(1 - r^2) e
    has unit variance and correlation r with c. It is scaled to stay within ``room``, (members,).
    """
    r = np.nan_to_num(pearson_r)[:, None]
    along = _standardised(cpu)
    drift = _standardised(shapes.autoregressive(rng, cpu.shape[0], cpu.shape[1], 0.998))
    across = _standardised(drift - (drift * along).mean(axis=1, keepdims=True) * along)
    shape = r * along + np.sqrt(1 - r**2) * across
    spread = np.exp(np.log(usual) + 0.6 * rng.standard_normal(len(cpu)))
    spread = np.minimum(spread, 0.9 * room / np.abs(shape).max(axis=1))
    return np.asarray(np.where(np.isnan(pearson_r), 0.0, spread)[:, None] * shape)


def _standardised(series: FloatArray) -> FloatArray:
    centred = series - series.mean(axis=1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axis=1, keepdims=True)))


def block_rows(world: World, block: NodeBlock) -> pl.DataFrame:
    """Return the rows of a group of nodes in the Node file, ordered by time."""
    steps = block.cpu_fraction.shape[1]
    return pl.DataFrame(
        {
            "timestamp": np.repeat(np.arange(steps) * STEP_MS, len(block.members)),
            "nodeid": world.nodes.ids.gather(np.tile(block.members, steps)),
            "node_cpu_usage": block.cpu_fraction.T.ravel(),
            "node_memory_usage": block.memory_fraction.T.ravel(),
        }
    )
