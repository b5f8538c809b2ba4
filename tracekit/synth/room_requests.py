"""Requests and limits of services: most ask for more CPU than they need."""

from dataclasses import dataclass

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.units import BYTES_PER_GIB, BYTES_PER_MIB
from tracekit.synth import shapes
from tracekit.synth.presets import Preset
from tracekit.synth.services import (
    CPU,
    KIND_KBIT_PER_CORE,
    MEMORY,
    NOISE_SD,
    NodeShape,
    NodeSizes,
    Services,
    ServiceSizes,
    capacities,
)
from tracekit.synth.shapes import Seeds

# Nodes of two types that are sold, a few special ones, and how busy each is.

#: A node is full at this part of its CPU as 99th percentile over time, and of its memory.
CEILING_CPU_FRACTION, CEILING_MEMORY_FRACTION = 0.80, 0.90


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of node: what it is, how many there are, and how it is used.

    Parameters
    ----------
    share : float
        Its part of all nodes.
    containers, most_containers : float, int
        How many a node has, usually and at most.
    others_cpu : float
        The part of its CPU that is used beside containers.
    cpu : tuple of float
        Mean CPU of the least busy node, of one at ``FEW``, and of the busiest.
    memory : tuple of float
        Mean memory of the emptiest node and of the fullest.
    """

    shape: NodeShape
    share: float
    containers: float
    most_containers: int
    others_cpu: float
    cpu: tuple[float, float, float]
    memory: tuple[float, float]


#: Types and prices on demand of a cloud provider, in USD an hour. Together their nodes have the
#: published quantiles: most are alike, the last few much busier.
SMALL, LARGE, GPU, TAINTED = range(4)
KINDS = (
    Kind(
        shape=NodeShape("m6i.4xlarge", 0, 16, 64, 0.768),
        share=0.681,
        containers=6.6,
        most_containers=10,
        others_cpu=0.49,
        cpu=(0.70, 0.729, 0.80),
        memory=(0.742, 0.781),
    ),
    Kind(
        shape=NodeShape("m6i.24xlarge", 0, 96, 384, 4.608),
        share=0.25,
        containers=9.6,
        most_containers=12,
        others_cpu=0.44,
        cpu=(0.455, 0.60, 0.63),
        memory=(0.70, 0.765),
    ),
    Kind(
        shape=NodeShape("g5.4xlarge", 0, 16, 64, 1.624, gpus=1, taint="nvidia.com/gpu"),
        share=0.038,
        containers=5.5,
        most_containers=10,
        others_cpu=0.42,
        cpu=(0.66, 0.68, 0.68),
        memory=(0.80, 0.838),
    ),
    Kind(
        shape=NodeShape("m6i.4xlarge", 0, 16, 64, 0.768, taint="ingress"),
        share=0.031,
        containers=4.0,
        most_containers=5,
        others_cpu=0.49,
        cpu=(0.66, 0.68, 0.68),
        memory=(0.80, 0.838),
    ),
)
FEW = 0.85
#: CPU and memory of the large nodes that are nearly idle, which have two containers at most.
IDLE, IDLE_CONTAINERS = ((0.08, 0.70), (0.22, 0.15)), 2
#: Mean use that leaves room for peaks below the ceiling.
FULL = (0.66, 0.82)


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """Nodes by the kind of each.

    Parameters
    ----------
    level : float64, shape (nodes, 2)
        Mean CPU and memory, fractions.
    idle : bool, shape (nodes,)
    """

    sizes: NodeSizes
    level: FloatArray
    idle: BoolArray

    def of_kind(self, values: list[float]) -> FloatArray:
        """The value of each node's kind, shape (nodes,)."""
        return np.array(values)[self.sizes.shape]


def draw_nodes(preset: Preset, seeds: Seeds) -> Nodes:
    """Draw the kinds of nodes, and their levels evenly from the ranges of each kind."""
    counts = [round(kind.share * preset.nodes) for kind in KINDS[LARGE:]]
    by_kind = np.repeat(range(len(KINDS)), [preset.nodes - sum(counts), *counts])
    kind: IntArray = seeds.stream("room nodes").permutation(by_kind)
    rng = seeds.stream("room levels")
    level, idle = np.empty((preset.nodes, 2)), np.zeros(preset.nodes, dtype=np.bool_)
    for number, one in enumerate(KINDS):
        of = np.flatnonzero(kind == number)
        level[of, CPU] = np.interp(shapes.strata(rng, len(of)), (0, FEW, 1), one.cpu)
        level[of, MEMORY] = np.interp(shapes.strata(rng, len(of)), (0, 1), one.memory)
    idle[np.flatnonzero(kind == LARGE)[: len(IDLE)]] = True
    level[idle] = IDLE
    shapes_sold = tuple(one.shape for one in KINDS)
    sizes = NodeSizes(kinds=shapes_sold, shape=kind, capacity=capacities(shapes_sold)[kind])
    return Nodes(sizes=sizes, level=level, idle=idle)


def spare_nodes(nodes: Nodes) -> BoolArray:
    """Small nodes that can go, shape (nodes,): what is used fills the others to ``FULL``.

    Those with most memory in use go: what stays is then most alike.
    """
    capacity = nodes.sizes.capacity[:, : MEMORY + 1].astype(np.float64)
    needed = (nodes.level * capacity).sum(axis=0) / FULL
    small = np.flatnonzero(nodes.sizes.shape == SMALL)
    count = int(((capacity.sum(axis=0) - needed) / capacity[small[0]]).min())
    spare = np.zeros(len(capacity), dtype=np.bool_)
    spare[small[np.argsort(-nodes.level[small, MEMORY], kind="stable")[:count]]] = True
    return spare


#: A right request is a percentile of use with a margin, as the Vertical Pod Autoscaler has it.
RIGHT_PERCENTILE, RIGHT_MARGIN = 0.9, 0.15
#: The part of containers that ask for ``FACTOR`` times what they need, or for the whole of their
#: limit; large ones, which ask for all of it, are ``BIG`` of all containers.
OVER_STATED, FACTOR, BIG = 0.85, 2.9, 0.34
#: The parts of large nodes, and of small ones, that are requested.
LARGE_REQUESTED, SMALL_REQUESTED = 0.94, 0.78
#: CPU that a container uses which asks for what it needs, that needs a GPU, that is on a tainted
#: node; and the largest limit of the latter.
USED_CORES, GPU_CORES, TAINTED_CORES, MOST_CORES = 0.15, 1.4, 0.75, 12
#: Services that use less of their limit than this need no GPU.
LEAST_GPU_FRACTION = 0.18
MEMORY_GIB_PER_CORE, DISK_GIB, KBIT_PART = 2.5, 40, 0.25
MILLI_STEP, MEMORY_STEP = 50, 128 * BYTES_PER_MIB


@dataclass(frozen=True, kw_only=True)
class Requests:
    """The requests of services.

    Parameters
    ----------
    big : bool, shape (services,)
        Services whose containers are on large nodes in production.
    right_cpu_cores : float64, shape (services,)
    used : float64, shape (services, 2)
        What a container uses on average, millicores and bytes.
    """

    sizes: ServiceSizes
    big: BoolArray
    right_cpu_cores: FloatArray
    used: FloatArray


def draw_requests(
    seeds: Seeds,
    services: Services,
    nodes: Nodes,
    bound: IntArray,
    busy: FloatArray,
) -> Requests:
    """Limits whose requests fill the nodes; what containers use of their limit is given.

    Small containers use about the same amount each, so that their limits differ as their use of
    them does. Memory goes by use of CPU, and is requested as it is needed.

    Parameters
    ----------
    bound : int64, shape (services,), as ``bound_to`` gives it
    busy : float64, shape (services,)
        CPU of a busy minute over the mean.
    """
    rng = seeds.stream("room requests")
    right = _right_fractions(services, busy)
    over = (shapes.weighted_ranks(right, services.sizes) < OVER_STATED) & (bound < 0)
    big = _big(services, over, nodes)
    part = np.where(big, 1, np.minimum(np.where(over, FACTOR, 1) * right, 1))
    used = _used_cores(services, over, bound, part * ~big, nodes)
    cores = np.where(big, _big_cores(services, big, nodes), used / services.cpu_fraction)
    limit_milli = _in_steps(np.where(bound < 0, cores, np.minimum(cores, MOST_CORES)) * 1000)
    used_milli = limit_milli * services.cpu_fraction
    memory_needed = used_milli / 1000 * MEMORY_GIB_PER_CORE * BYTES_PER_GIB
    memory = _in_steps(memory_needed / services.memory_fraction, MEMORY_STEP)
    per_core = np.array([KIND_KBIT_PER_CORE[kind] for kind in services.kind_names])
    disk = DISK_GIB * BYTES_PER_GIB * rng.integers(1, 3, len(memory))
    net = (KBIT_PART * limit_milli / 1000 * per_core).astype(np.int64)
    limit = np.stack([limit_milli, memory, disk, net], axis=1)
    request = limit.copy()
    request[:, CPU] = _in_steps(limit_milli * part)
    return Requests(
        sizes=ServiceSizes(request=request, limit=limit),
        big=big,
        right_cpu_cores=limit_milli * right / 1000,
        used=np.stack([used_milli, memory * services.memory_fraction], axis=1),
    )


def busy_minute(activity: FloatArray, cpu_signal: FloatArray) -> FloatArray:
    """CPU of a service at the percentile of minutes that right requests are for, over the mean."""
    calls = np.quantile(activity, RIGHT_PERCENTILE, axis=1)
    return np.asarray(1 - cpu_signal + cpu_signal * calls)


def _right_fractions(services: Services, busy: FloatArray) -> FloatArray:
    """The right request of each service, a fraction of its limit."""
    noise = 1 + NOISE_SD * shapes.normal(np.array([RIGHT_PERCENTILE]))[0]
    return np.asarray(np.minimum(services.cpu_fraction * busy * noise * (1 + RIGHT_MARGIN), 1))


def _big(services: Services, over: BoolArray, nodes: Nodes) -> BoolArray:
    """Services of large containers: those that use least, each at most once on a large node."""
    large = int(((nodes.sizes.shape == LARGE) & ~nodes.idle).sum())
    can = over & (services.sizes <= large)
    by_use = np.argsort(np.where(can, services.cpu_fraction, np.inf), kind="stable")
    many = np.cumsum(services.sizes[by_use]) > BIG * services.sizes.sum()
    can[by_use[many]] = False
    return can


def _big_cores(services: Services, big: BoolArray, nodes: Nodes) -> float:
    """The size of large containers: so many of them as a large node has fill it."""
    large = ((nodes.sizes.shape == LARGE) & ~nodes.idle).sum()
    on_each = np.ceil(services.sizes[big].sum() / large)
    return float(LARGE_REQUESTED * KINDS[LARGE].shape.cpu_cores / on_each)


def _used_cores(
    services: Services, over: BoolArray, bound: IntArray, part: FloatArray, nodes: Nodes
) -> FloatArray:
    """What a small container of each service uses; ``part`` of limits is requested, 0 by big."""
    rest = nodes.sizes.capacity[np.isin(nodes.sizes.shape, (SMALL, GPU)), CPU].sum() / 1000
    asked = services.sizes @ (part / services.cpu_fraction * over)
    used = np.where(over, SMALL_REQUESTED * rest / asked, USED_CORES)
    used[bound == GPU], used[bound == TAINTED] = GPU_CORES, TAINTED_CORES
    return used


def _in_steps(amounts: FloatArray | IntArray, step: int = MILLI_STEP) -> IntArray:
    return (np.maximum(amounts // step, 1) * step).astype(np.int64)


def bound_to(services: Services, kind: IntArray) -> IntArray:
    """The kind of the only nodes that each service can run on, shape (services,); -1 for any.

    Services of few containers need a GPU, one on each such node, or tolerate the taint.
    """
    sizes = services.sizes
    found = np.full(len(sizes), -1, dtype=np.int64)
    by_size = np.argsort(-sizes, kind="stable")
    for special, on_each, least in ((GPU, 1, LEAST_GPU_FRACTION), (TAINTED, 4, 0.0)):
        nodes = int((kind == special).sum())
        left = on_each * nodes
        fit = (found < 0) & (sizes <= nodes) & (services.cpu_fraction > least)
        for service in by_size[fit[by_size]]:
            if sizes[service] <= left:
                found[service] = special
                left -= int(sizes[service])
    return found
