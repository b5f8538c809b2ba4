"""Everything about a made-up trace that does not change over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.arrays import FloatArray, IntArray
from tracekit.synth import shapes
from tracekit.synth.activity import service_activity
from tracekit.synth.ids import hashes
from tracekit.synth.placement import Room, place, wanted_containers
from tracekit.synth.presets import Preset
from tracekit.synth.seeds import Seeds
from tracekit.synth.services import NOISE_SD, Services, make_services
from tracekit.synth.sizes import NodeSizes, ServiceSizes, node_sizes, service_sizes

#: Containers that start while the trace runs: 87 of 96,444 in the real one.
LATE_SHARE = 9e-4
CONTAINER_SPREAD_CPU, CONTAINER_SPREAD_MEMORY = 0.09, 0.011
#: Part of the spread of node CPU that lies between nodes; noise over time makes up the rest.
LEVEL_SPREAD = 0.82


@dataclass(frozen=True, kw_only=True)
class Containers:
    """What is planted about each container; arrays of shape (containers,)."""

    ids: pl.Series
    service: IntArray
    node: IntArray
    cpu_level: FloatArray
    memory_level: FloatArray
    rate_share: FloatArray
    first_step: IntArray


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """What is planted about each node; arrays of shape (nodes,), fractions of its capacity."""

    ids: pl.Series
    cpu_level: FloatArray
    memory_level: FloatArray


@dataclass(frozen=True, kw_only=True)
class World:
    """The entities of a trace and the activity of its services.

    Parameters
    ----------
    activity : float64, shape (services, minutes)
        Call rate of a service, relative to its mean over the trace.
    cpu_signal : float64, shape (services,)
        Part of a service's CPU use that follows the call rate; negative for some services.
    """

    preset: Preset
    seeds: Seeds
    services: Services
    containers: Containers
    nodes: Nodes
    node_sizes: NodeSizes
    service_sizes: ServiceSizes
    activity: FloatArray
    cpu_signal: FloatArray

    def node_share(self, resource: int) -> FloatArray:
        """What part of its node each container may use at most, shape (containers,)."""
        limit = self.service_sizes.limit[self.containers.service, resource]
        return np.asarray(limit / self.node_sizes.capacity[self.containers.node, resource])

    @property
    def cpu_per_call_s(self) -> FloatArray:
        """Rise of a container's CPU fraction per call/s, shape (services,)."""
        return self.cpu_signal * self.services.cpu_fraction / self.services.rate_per_s


def make_world(preset: Preset, seeds: Seeds) -> World:
    """Draw the entities of a trace; the same seed gives the same world."""
    services = make_services(preset, seeds)
    nodes = _make_nodes(preset, seeds)
    have = node_sizes(preset, seeds)
    asked = service_sizes(seeds, services.sizes, services.kind_names)
    activity = service_activity(preset, seeds, steady=services.negative)
    return World(
        preset=preset,
        seeds=seeds,
        services=services,
        containers=_make_containers(
            preset, seeds, services, nodes, Room(have.capacity, asked.request)
        ),
        nodes=nodes,
        node_sizes=have,
        service_sizes=asked,
        activity=activity,
        cpu_signal=_cpu_signal(services, activity),
    )


def _make_nodes(preset: Preset, seeds: Seeds) -> Nodes:
    rng = seeds.stream("node levels")
    count = preset.nodes
    idle = max(1, round(shapes.NODE_IDLE_SHARE * count))
    cpu, memory = np.empty(count), np.empty(count)
    cpu[:idle] = 0.006 + 0.28 * shapes.strata(rng, idle)
    memory[:idle] = 0.05 + 0.60 * shapes.strata(rng, idle)
    rank = rng.standard_normal(count - idle)
    mixed = 0.25 * rank + np.sqrt(1 - 0.25**2) * rng.standard_normal(count - idle)
    middle = shapes.NODE_CPU_QUANTILES[4]
    spread = np.interp(_ranks(rank), shapes.NODE_PROBABILITIES, shapes.NODE_CPU_QUANTILES) - middle
    cpu[idle:] = middle + LEVEL_SPREAD * spread
    memory[idle:] = np.interp(
        _ranks(mixed), shapes.NODE_PROBABILITIES, shapes.NODE_MEMORY_QUANTILES
    )
    return Nodes(ids=hashes(seeds.stream("node ids"), count), cpu_level=cpu, memory_level=memory)


def _ranks(score: FloatArray) -> FloatArray:
    return (np.argsort(np.argsort(score)) + 0.5) / len(score)


def _make_containers(
    preset: Preset, seeds: Seeds, services: Services, nodes: Nodes, room: Room
) -> Containers:
    rng = seeds.stream("placement")
    wanted = wanted_containers(rng, nodes.cpu_level, preset.containers / preset.nodes)
    service, node = place(rng, services.sizes, wanted, room)
    spread = seeds.stream("container levels")
    count = preset.containers
    wobble = shapes.bounded(spread.standard_normal((3, count)))
    rate_share = 1 + 0.05 * wobble[2]
    rate_share[int(np.flatnonzero(service == np.argmax(services.sizes))[0])] = 0.0
    return Containers(
        ids=hashes(seeds.stream("container ids"), count),
        service=service,
        node=node,
        cpu_level=services.cpu_fraction[service] * (1 + CONTAINER_SPREAD_CPU * wobble[0]),
        memory_level=services.memory_fraction[service] * (1 + CONTAINER_SPREAD_MEMORY * wobble[1]),
        rate_share=rate_share,
        first_step=_first_steps(preset, seeds),
    )


def _first_steps(preset: Preset, seeds: Seeds) -> IntArray:
    rng = seeds.stream("late containers")
    first = np.zeros(preset.containers, dtype=np.int64)
    late = max(1, round(LATE_SHARE * preset.containers))
    chosen = rng.choice(preset.containers, size=late, replace=False)
    first[chosen] = rng.integers(preset.steps // 5, preset.steps // 2, size=late)
    return first


def _cpu_signal(services: Services, activity: FloatArray) -> FloatArray:
    """The part of CPU that must follow the calls to reach the planted R^2 against the noise."""
    ratio = np.sqrt(services.fit_share / (1 - services.fit_share))
    signal = NOISE_SD * ratio / activity.std(axis=1)
    room = (1.2 / services.cpu_fraction - 1) / (activity.max(axis=1) - 1)
    signal = np.minimum(signal, np.clip(room, 0, 0.8))
    return np.asarray(np.where(services.negative, -np.minimum(signal, 0.25), signal))
