"""Use of each container over time: the MSResource files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.synth import shapes
from tracekit.synth.arrays import Bools, Floats, Ints
from tracekit.synth.presets import STEP_MS, STEPS_PER_HOUR, STEPS_PER_MINUTE
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
    cpu_fraction: Floats
    memory_fraction: Floats
    present: Bools

    @property
    def rows(self) -> int:
        """Number of samples."""
        return int(self.present.sum())

    @property
    def first_step(self) -> int:
        """Step of the trace at which the hour starts."""
        return self.number * STEPS_PER_HOUR


def usage_hours(world: World) -> Iterator[UsageHour]:
    """The trace hour by hour; noise runs on across the hours."""
    count = world.preset.containers
    start = world.seeds.stream("container start").standard_normal((2, count))
    cpu_state, memory_state = start
    fine = world.seeds.stream("cpu grid").random(world.preset.services) < FINE_GRID_SHARE
    grid = np.where(fine[world.containers.service], CPU_GRIDS[1], CPU_GRIDS[0])
    for hour in range(world.preset.hours):
        rng = world.seeds.stream("container noise", hour)
        cpu_state, cpu_noise = _noise(rng, cpu_state, NOISE_KEEP)
        memory_state, memory_noise = _noise(rng, memory_state, MEMORY_NOISE_KEEP)
        steps = hour * STEPS_PER_HOUR + np.arange(STEPS_PER_HOUR)
        cpu = _cpu_demand(world, steps) * (1 + NOISE_SD * cpu_noise)
        cpu *= 1 + _spikes(rng, cpu.shape) * np.clip(1 - cpu, 0, 1)
        memory = world.containers.memory_level[:, None] * (1 + MEMORY_NOISE_SD * memory_noise)
        yield UsageHour(
            number=hour,
            cpu_fraction=_on_grid(rng, cpu, grid[:, None]),
            memory_fraction=np.rint(memory * MEMORY_GRID) / MEMORY_GRID,
            present=steps >= world.containers.first_step[:, None],
        )


def _cpu_demand(world: World, steps: Ints) -> Floats:
    """CPU before noise: an idle part, and a part proportional to the calls of the minute.

    A sample at time t belongs to the minute that ends at or after t.
    """
    minutes = -(-steps // STEPS_PER_MINUTE)
    calls = {m: calls_in_minute(world, m) for m in range(int(minutes[0]), int(minutes[-1]) + 1)}
    rate = np.stack([calls[int(minute)] for minute in minutes], axis=1) / 60
    service = world.containers.service
    idle = world.containers.cpu_level * (1 - world.cpu_signal[service])
    return np.asarray(idle[:, None] + world.cpu_per_call_s[service][:, None] * rate)


def _noise(rng: np.random.Generator, state: Floats, keep: float) -> tuple[Floats, Floats]:
    fresh = np.sqrt(1 - keep**2) * rng.standard_normal((STEPS_PER_HOUR, len(state)))
    out = np.empty_like(fresh)
    for at in range(STEPS_PER_HOUR):
        state = keep * state + fresh[at]
        out[at] = state
    return state, np.ascontiguousarray(shapes.bounded(out).T)


def _spikes(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    spikes = np.zeros(shape)
    count = rng.binomial(spikes.size, SPIKE_SHARE)
    at = rng.integers(spikes.size, size=count)
    spikes.ravel()[at] = np.minimum(rng.exponential(SPIKE_SIZE, size=count), 2.0)
    return spikes


def _on_grid(rng: np.random.Generator, cpu: Floats, grid: Floats) -> Floats:
    noise = rng.uniform(-FLOAT_NOISE, FLOAT_NOISE, cpu.shape)
    return np.asarray(np.maximum(np.rint(cpu * grid), 1) / grid + noise)


def usage_blocks(world: World, hour: UsageHour) -> Iterator[pl.DataFrame]:
    """Rows of one MSResource file: blocks of containers, ordered by time inside a block."""
    rng = world.seeds.stream("container blocks", hour.number)
    order = rng.permutation(world.preset.containers)
    size = world.preset.block_entities
    for start in range(0, len(order), size):
        yield _block(world, hour, order[start : start + size])


def _block(world: World, hour: UsageHour, members: Ints) -> pl.DataFrame:
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
