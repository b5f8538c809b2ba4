"""Use of each container over time: the MSResource files."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.constants import STEP_MS
from tracekit.synth import shapes
from tracekit.synth.presets import STEPS_PER_HOUR, STEPS_PER_MINUTE
from tracekit.synth.rates import calls_in_minute
from tracekit.synth.services import NOISE_SD
from tracekit.synth.world import World

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
    """Printed values of one hour; arrays of shape (containers, steps of the hour)."""

    number: int
    cpu_fraction: FloatArray
    memory_fraction: FloatArray
    present: BoolArray

    @property
    def rows(self) -> int:
        """Number of samples."""
        return int(self.present.sum())

    @property
    def first_step(self) -> int:
        """Step of the trace at which the hour starts."""
        return self.number * STEPS_PER_HOUR


@dataclass(frozen=True, kw_only=True)
class NoiseState:
    """The state of the noise of CPU and memory, arrays of shape (containers,)."""

    cpu: FloatArray
    memory: FloatArray


def noise_states(world: World) -> Iterator[NoiseState]:
    """The noise at the start of every hour: with it, hours can be made in any order."""
    count = world.preset.containers
    cpu, memory = world.seeds.stream("container start").standard_normal((2, count))
    for hour in range(world.preset.hours):
        yield NoiseState(cpu=cpu, memory=memory)
        rng = world.seeds.stream("container noise", hour)
        cpu = _walk(rng, cpu, NOISE_KEEP)[-1].copy()
        memory = _walk(rng, memory, MEMORY_NOISE_KEEP)[-1].copy()


def usage_hour(world: World, number: int, state: NoiseState) -> UsageHour:
    """One hour, from the noise at its start.

    At 96,000 containers an array takes 93 MB, so everything that can be is done in place.
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
    """CPU before noise: an idle part, and a part proportional to the calls of the minute.

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
    """An hour of AR(1) noise that goes on from ``state``, shape (steps, containers)."""
    out = rng.standard_normal((STEPS_PER_HOUR, len(state)))
    out *= np.sqrt(1 - keep**2)
    for at in range(STEPS_PER_HOUR):
        out[at] += keep * state
        state = out[at]
    return out


def _factor(walk: FloatArray, sd: float) -> FloatArray:
    """1 plus bounded noise of a standard deviation, shape (containers, steps)."""
    limit = shapes.BOUND
    walk /= limit
    np.tanh(walk, out=walk)
    walk *= limit
    factor = np.ascontiguousarray(walk.T)
    factor *= sd
    factor += 1
    return factor


def _add_spikes(rng: np.random.Generator, cpu: FloatArray) -> None:
    """Raise a few samples, the less the closer they are to 1."""
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
    """Rows of one MSResource file: blocks of containers, ordered by time inside a block."""
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
