"""A made-up trace without its calls: containers, their nodes, and their use."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.synth import shapes
from tracekit.synth.presets import Preset
from tracekit.synth.room import PlantedDecision, make_room
from tracekit.synth.services import (
    NOISE_SD,
    NodeSizes,
    Services,
    ServiceSizes,
    make_services,
    node_sizes,
    service_sizes,
)
from tracekit.synth.shapes import Seeds, hashes

#: Of 1,043 services 27 % have bursts, 10.8 each in 12 h (slate-sim's count on the real trace).
BURSTY_SHARE = 0.27
BURSTS_PER_HOUR = 10.8 / 12
#: The remaining part of a burst in the minutes after its start.
BURST_DECAY = (1.0, 0.45, 0.15)
BURST_FACTORS = (2.2, 9.0)


def service_activity(preset: Preset, seeds: Seeds, *, steady: BoolArray) -> FloatArray:
    """Draw each service's call rate, relative to its mean over the trace; all values are positive.

    The shape is (services, minutes). ``steady``, shape (services,), marks services without bursts.
    """
    rng = seeds.stream("activity")
    count = preset.services
    hour = shapes.START_HOUR + np.arange(preset.minutes) / 60
    shift = rng.uniform(-1.0, 1.0, (count, 1))
    swing = rng.uniform(0.10, 0.35, (count, 1))
    drift = shapes.bounded(shapes.autoregressive(rng, count, preset.minutes, 0.95))
    activity = (1 + swing * shapes.daily(hour + shift)) * np.exp(0.05 * drift)
    activity *= _bursts(seeds.stream("bursts"), preset, steady)
    return np.asarray(activity / activity.mean(axis=1, keepdims=True))


def _bursts(rng: np.random.Generator, preset: Preset, steady: BoolArray) -> FloatArray:
    factor = np.ones((preset.services, preset.minutes))
    bursty = (shapes.strata(rng, preset.services) < BURSTY_SHARE) & ~steady
    low, high = np.log(BURST_FACTORS)
    for service in np.flatnonzero(bursty):
        count = 1 + rng.poisson(max(BURSTS_PER_HOUR * preset.hours - 1, 0))
        starts = rng.integers(5, preset.minutes - len(BURST_DECAY), size=count)
        for start, rise in zip(starts, np.exp(rng.uniform(low, high, size=count)), strict=True):
            for after, left in enumerate(BURST_DECAY):
                at = start + after
                factor[service, at] = max(factor[service, at], 1 + (rise - 1) * left)
    return factor


@dataclass(frozen=True)
class CapacitiesAndRequests:
    """What containers have to fit: capacities, (nodes, resources), and requests of services."""

    capacity: IntArray
    request: IntArray


def place(
    rng: np.random.Generator, sizes: IntArray, wanted: FloatArray, room: CapacitiesAndRequests
) -> tuple[IntArray, IntArray]:
    """Spread services nearly evenly over nodes with room, no service twice on a node if possible.

    When no node has room, the nodes with most CPU left take the remaining containers.

    Parameters
    ----------
    sizes : int64, shape (services,)
        Containers of each service.
    wanted : float64, shape (nodes,)
        Containers that each node should get in the end.

    Returns
    -------
    service, node : int64, shape (containers,)
    """
    due = wanted * sizes.sum() / wanted.sum()
    free = room.capacity.copy()
    services, nodes = [], []
    for service in np.argsort(-sizes, kind="stable"):
        left, needed = int(sizes[service]), room.request[service]
        while left:
            chosen = _chosen(rng, due, free, needed)[:left]
            due[chosen] -= 1
            free[chosen] -= needed
            services.append(np.full(len(chosen), service, dtype=np.int64))
            nodes.append(chosen.astype(np.int64))
            left -= len(chosen)
    return np.concatenate(services), np.concatenate(nodes)


def _chosen(
    rng: np.random.Generator, due: FloatArray, free: IntArray, request: IntArray
) -> IntArray:
    """The nodes with room, the neediest first; without any, the node with most CPU left."""
    fits: BoolArray = np.asarray((free >= request).all(axis=1))
    order = np.argsort(-(due + rng.random(len(due))), kind="stable")
    with_room = order[fits[order]]
    return np.asarray(with_room if len(with_room) else [np.argmax(free[:, 0])], dtype=np.int64)


def wanted_containers(rng: np.random.Generator, cpu_level: FloatArray, mean: float) -> FloatArray:
    """Return the number of containers that each node should get, shape (nodes,).

    A busy node gets more than others, a nearly idle node at most two, so that the containers fit
    the node's use.
    """
    centred = (cpu_level - np.median(cpu_level)) / 0.06
    usual = mean + 0.8 * np.clip(centred, -2, 2) + 1.4 * rng.standard_normal(len(cpu_level))
    few = np.minimum(np.floor(cpu_level / 0.05), 2)
    return np.where(cpu_level < 0.3, few + 1e-3, np.maximum(usual, 2.5))


#: Containers that start while the trace runs: 87 of 96,444 in the real one.
LATE_SHARE = 9e-4
CONTAINER_SPREAD_CPU, CONTAINER_SPREAD_MEMORY = 0.09, 0.011
#: Part of the spread of node CPU that lies between nodes; noise over time makes up the rest.
LEVEL_SPREAD = 0.82


@dataclass(frozen=True, kw_only=True)
class Containers:
    """The planted properties of each container; arrays of shape (containers,)."""

    ids: pl.Series
    service: IntArray
    node: IntArray
    cpu_level: FloatArray
    memory_level: FloatArray
    rate_share: FloatArray
    first_step: IntArray


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """The planted properties of each node; arrays of shape (nodes,), fractions of its capacity."""

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
        The part of a service's CPU that follows the call rate; negative for some services.
    planted : Planted, optional
        The planted decision, if the cluster has room for it.
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
    planted: PlantedDecision | None = None

    def node_share(self, resource: int) -> FloatArray:
        """Return the largest share of its node that each container may use, shape (containers,)."""
        limit = self.service_sizes.limit[self.containers.service, resource]
        return np.asarray(limit / self.node_sizes.capacity[self.containers.node, resource])

    @property
    def cpu_per_call_s(self) -> FloatArray:
        """Rise of a container's CPU fraction per call/s, shape (services,)."""
        return self.cpu_signal * self.services.cpu_fraction / self.services.rate_per_s


def make_world(preset: Preset, seeds: Seeds) -> World:
    """Draw the entities of a trace; the same seed gives the same world."""
    services = make_services(preset, seeds)
    activity = service_activity(preset, seeds, steady=services.negative)
    cpu_signal = _cpu_signal(services, activity)
    planted = None
    if preset.room:
        roomy = make_room(preset, seeds, services, activity, cpu_signal)
        have, requests, planted = roomy.node_sizes, roomy.service_sizes, roomy.planted
        nodes = _nodes(preset, seeds, *roomy.level.T)
        placed = roomy.service, roomy.node
    else:
        nodes = _nodes(preset, seeds, *_node_levels(preset, seeds))
        have = node_sizes(preset, seeds)
        requests = service_sizes(seeds, services.sizes, services.kind_names)
        placed = _placed(
            preset, seeds, services, nodes, CapacitiesAndRequests(have.capacity, requests.request)
        )
    return World(
        preset=preset,
        seeds=seeds,
        services=services,
        containers=_make_containers(preset, seeds, services, *placed),
        nodes=nodes,
        node_sizes=have,
        service_sizes=requests,
        activity=activity,
        cpu_signal=cpu_signal,
        planted=planted,
    )


def _nodes(preset: Preset, seeds: Seeds, cpu: FloatArray, memory: FloatArray) -> Nodes:
    ids = hashes(seeds.stream("node ids"), preset.nodes)
    return Nodes(ids=ids, cpu_level=cpu, memory_level=memory)


def _node_levels(preset: Preset, seeds: Seeds) -> tuple[FloatArray, FloatArray]:
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
    return cpu, memory


def _ranks(score: FloatArray) -> FloatArray:
    return (np.argsort(np.argsort(score)) + 0.5) / len(score)


def _placed(
    preset: Preset, seeds: Seeds, services: Services, nodes: Nodes, room: CapacitiesAndRequests
) -> tuple[IntArray, IntArray]:
    """Service and node of each container."""
    rng = seeds.stream("placement")
    wanted = wanted_containers(rng, nodes.cpu_level, preset.containers / preset.nodes)
    return place(rng, services.sizes, wanted, room)


def _make_containers(
    preset: Preset, seeds: Seeds, services: Services, service: IntArray, node: IntArray
) -> Containers:
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
