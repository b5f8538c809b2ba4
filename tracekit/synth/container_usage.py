"""The call rates (MSRTQps files) and the use (MSResource files) of containers over time."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.constants import STEP_MS
from tracekit.base.units import MS_PER_MINUTE
from tracekit.synth import shapes
from tracekit.synth.presets import MINUTES_PER_RATE_FILE, STEPS_PER_HOUR, STEPS_PER_MINUTE
from tracekit.synth.services import METRIC_PAIRS, MIRRORED_PAIRS, NOISE_SD
from tracekit.synth.world import World

#: The calls of each pair of metrics, relative to the first pair of the kind.
PAIR_FACTORS = {"providerRPC": 1.0, "HTTP": 0.6, "consumerRPC": 1.7, "consumerMQ": 0.25}
LOAD_NOISE_SD = 0.02
_PAIRS = tuple(PAIR_FACTORS)


def calls_in_minute(world: World, minute: int) -> FloatArray:
    """Return how many calls each container answers in the minute up to ``minute``, (containers,).

    These are whole numbers; the trace prints them divided by 60.
    """
    containers = world.containers
    noise = world.seeds.stream("rate noise", minute).standard_normal(len(containers.service))
    rate = world.services.rate_per_s[containers.service] * containers.rate_share
    rate *= world.activity[containers.service, minute] * (1 + LOAD_NOISE_SD * noise)
    calls = np.rint(np.maximum(rate, 0) * 60)
    calls[-(-containers.first_step // STEPS_PER_MINUTE) > minute] = 0
    return np.asarray(calls)


def rate_minutes(world: World, number: int) -> range:
    """Return the minutes of MSRTQps file ``number``: half an hour; the last file has one minute."""
    first = number * MINUTES_PER_RATE_FILE
    return range(first, min(first + MINUTES_PER_RATE_FILE, world.preset.minutes))


def rate_blocks(world: World, number: int) -> Iterator[pl.DataFrame]:
    """Yield rows of MSRTQps file ``number`` in random order, one group of containers at a time."""
    minutes = rate_minutes(world, number)
    calls = np.stack([calls_in_minute(world, minute) for minute in minutes], axis=1)
    rng = world.seeds.stream("rate rows", number)
    order = rng.permutation(world.preset.containers)
    size = world.preset.block_entities
    for start in range(0, len(order), size):
        yield _rate_block(world, rng, order[start : start + size], minutes, calls)


def row_count(world: World, number: int) -> int:
    """Return the number of rows of MSRTQps file ``number``."""
    minutes = rate_minutes(world, number)
    pairs = np.array([len(metrics) for metrics in METRIC_PAIRS.values()])
    present = np.clip(minutes.stop - np.maximum(_first_minutes(world), minutes.start), 0, None)
    kinds = world.services.kinds[world.containers.service]
    return int((2 * pairs[kinds] * present).sum())


def _first_minutes(world: World) -> IntArray:
    return -(-world.containers.first_step // STEPS_PER_MINUTE)


def _rate_block(
    world: World, rng: np.random.Generator, members: IntArray, minutes: range, calls: FloatArray
) -> pl.DataFrame:
    kinds = world.services.kinds[world.containers.service[members]]
    parts = []
    for kind, pairs in enumerate(METRIC_PAIRS.values()):
        chosen = members[kinds == kind]
        for pair in pairs:
            factor = 1.0 if pair == pairs[0] else PAIR_FACTORS[pair]
            counts = np.rint(factor * calls[chosen])
            parts.append(_pair_rows(world, rng, chosen, counts, pair))
    container, minute, metric, value = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    minute += minutes.start
    keep = rng.permutation(len(container))
    keep = keep[minute[keep] >= _first_minutes(world)[container[keep]]]
    names = pl.Series([f"{pair}_{what}" for pair in _PAIRS for what in ("MCR", "RT")])
    service = world.containers.service[container[keep]]
    return pl.DataFrame(
        {
            "timestamp": minute[keep] * MS_PER_MINUTE,
            "msname": world.services.ids.gather(service),
            "msinstanceid": world.containers.ids.gather(container[keep]),
            "metric": names.gather(metric[keep]),
            "value": value[keep],
        }
    )


def _pair_rows(
    world: World,
    rng: np.random.Generator,
    chosen: IntArray,
    counts: FloatArray,
    pair: str,
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """The rows of both metrics of a pair: container, minute of the file, metric, value."""
    service = world.containers.service[chosen]
    rate = counts / 60
    latency = world.services.latency_ms[service][:, None] * np.exp(
        0.15 * rng.standard_normal(counts.shape)
    )
    latency = np.where(counts > 0, latency, 0.0)
    if pair in MIRRORED_PAIRS:
        latency = np.where(world.services.mirrored[service][:, None], rate, latency)
    code = 2 * _PAIRS.index(pair)
    container = np.repeat(chosen, counts.shape[1])
    minute = np.tile(np.arange(counts.shape[1]), len(chosen))
    return (
        np.concatenate([container, container]),
        np.concatenate([minute, minute]),
        np.repeat(np.array([code, code + 1]), len(container)),
        np.concatenate([rate.ravel(), latency.ravel()]),
    )


NOISE_KEEP = 0.85
MEMORY_NOISE_SD, MEMORY_NOISE_KEEP = 0.003, 0.998
SPIKE_SHARE, SPIKE_SIZE = 0.002, 0.6
#: The real values lie on a 1/24000 grid in 82 % of rows, up to float noise of about 3e-12.
CPU_GRIDS = (24_000.0, 96_000.0)
FINE_GRID_SHARE = 0.18
FLOAT_NOISE = 5e-12
#: Memory is counted in 4 KiB pages of an assumed 4 GiB.
MEMORY_GRID = float(2**20)


@dataclass(frozen=True, kw_only=True)
class UsageHour:
    """Use in one hour as printed in the trace; arrays of shape (containers, steps of the hour).

    ``present`` marks the samples at which a container has started.
    """

    number: int
    cpu_fraction: FloatArray
    memory_fraction: FloatArray
    present: BoolArray

    @property
    def rows(self) -> int:
        """The number of samples."""
        return int(self.present.sum())

    @property
    def first_step(self) -> int:
        """The step of the trace at which the hour starts."""
        return self.number * STEPS_PER_HOUR


@dataclass(frozen=True, kw_only=True)
class NoiseState:
    """The current noise of CPU and memory; arrays of shape (containers,)."""

    cpu: FloatArray
    memory: FloatArray


def noise_states(world: World) -> Iterator[NoiseState]:
    """Yield the noise at the start of every hour, so that hours can be made in any order."""
    count = world.preset.containers
    cpu, memory = world.seeds.stream("container start").standard_normal((2, count))
    for hour in range(world.preset.hours):
        yield NoiseState(cpu=cpu, memory=memory)
        rng = world.seeds.stream("container noise", hour)
        cpu = _walk(rng, cpu, NOISE_KEEP)[-1].copy()
        memory = _walk(rng, memory, MEMORY_NOISE_KEEP)[-1].copy()


def usage_hour(world: World, number: int, state: NoiseState) -> UsageHour:
    """Return the use of one hour, from the noise at its start.

    The arrays are changed in place, because each takes 93 MB for 96,000 containers.
    """
    rng = world.seeds.stream("container noise", number)
    cpu_factor = _factor(_walk(rng, state.cpu, NOISE_KEEP), NOISE_SD)
    memory = _factor(_walk(rng, state.memory, MEMORY_NOISE_KEEP), MEMORY_NOISE_SD)
    steps = number * STEPS_PER_HOUR + np.arange(STEPS_PER_HOUR)
    cpu = _cpu_demand(world, steps)
    cpu *= cpu_factor
    del cpu_factor
    _add_spikes(rng, cpu)
    _put_on_grid(rng, cpu, _grid(world)[:, None])
    memory *= world.containers.memory_level[:, None]
    memory *= MEMORY_GRID
    np.rint(memory, out=memory)
    memory /= MEMORY_GRID
    return UsageHour(
        number=number,
        cpu_fraction=cpu,
        memory_fraction=memory,
        present=steps >= world.containers.first_step[:, None],
    )


def _grid(world: World) -> FloatArray:
    fine = world.seeds.stream("cpu grid").random(world.preset.services) < FINE_GRID_SHARE
    return np.where(fine[world.containers.service], CPU_GRIDS[1], CPU_GRIDS[0])


def _cpu_demand(world: World, steps: IntArray) -> FloatArray:
    """CPU without noise: an idle part plus a part proportional to the calls of the minute.

    A sample at time t belongs to the minute that ends at or after t.
    """
    minutes = -(-steps // STEPS_PER_MINUTE)
    calls = {m: calls_in_minute(world, m) for m in range(int(minutes[0]), int(minutes[-1]) + 1)}
    demand = np.stack([calls[int(minute)] for minute in minutes], axis=1)
    service = world.containers.service
    idle = world.containers.cpu_level * (1 - world.cpu_signal[service])
    demand /= 60
    demand *= world.cpu_per_call_s[service][:, None]
    demand += idle[:, None]
    return demand


def _walk(rng: np.random.Generator, state: FloatArray, keep: float) -> FloatArray:
    """An hour of AR(1) noise that continues ``state``, shape (steps, containers)."""
    out = rng.standard_normal((STEPS_PER_HOUR, len(state)))
    out *= np.sqrt(1 - keep**2)
    for at in range(STEPS_PER_HOUR):
        out[at] += keep * state
        state = out[at]
    return out


def _factor(walk: FloatArray, sd: float) -> FloatArray:
    """1 plus bounded noise with the standard deviation ``sd``, shape (containers, steps)."""
    limit = shapes.BOUND
    walk /= limit
    np.tanh(walk, out=walk)
    walk *= limit
    factor = np.ascontiguousarray(walk.T)
    factor *= sd
    factor += 1
    return factor


def _add_spikes(rng: np.random.Generator, cpu: FloatArray) -> None:
    """Raise a few samples; the closer a sample is to 1, the smaller is the rise."""
    count = rng.binomial(cpu.size, SPIKE_SHARE)
    at = rng.integers(cpu.size, size=count)
    sizes = np.minimum(rng.exponential(SPIKE_SIZE, size=count), 2.0)
    # of spikes at one place the last counts
    at, last = np.unique(at[::-1], return_index=True)
    values = cpu.ravel()
    values[at] *= 1 + sizes[::-1][last] * np.clip(1 - values[at], 0, 1)


def _put_on_grid(rng: np.random.Generator, cpu: FloatArray, grid: FloatArray) -> None:
    cpu *= grid
    np.rint(cpu, out=cpu)
    np.maximum(cpu, 1, out=cpu)
    cpu /= grid
    cpu += rng.uniform(-FLOAT_NOISE, FLOAT_NOISE, cpu.shape)


def usage_blocks(world: World, hour: UsageHour) -> Iterator[pl.DataFrame]:
    """Yield rows of one MSResource file: blocks of containers, ordered by time within a block."""
    rng = world.seeds.stream("container blocks", hour.number)
    order = rng.permutation(world.preset.containers)
    size = world.preset.block_entities
    for start in range(0, len(order), size):
        yield _block(world, hour, order[start : start + size])


def _block(world: World, hour: UsageHour, members: IntArray) -> pl.DataFrame:
    steps = hour.present.shape[1]
    present = hour.present[members].T.ravel()
    container = np.tile(members, steps)[present]
    step = np.repeat(np.arange(steps), len(members))[present] + hour.first_step
    return pl.DataFrame(
        {
            "msname": world.services.ids.gather(world.containers.service[container]),
            "msinstanceid": world.containers.ids.gather(container),
            "nodeid": world.nodes.ids.gather(world.containers.node[container]),
            "instance_cpu_usage": hour.cpu_fraction[members].T.ravel()[present],
            "instance_memory_usage": hour.memory_fraction[members].T.ravel()[present],
            "timestamp": step * STEP_MS,
        }
    )
