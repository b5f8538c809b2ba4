"""Nodes of a cluster with room, and requests of services that mostly exceed their need for CPU."""

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

#: The ceiling of a node: the 99th percentile over time of its CPU, and its memory.
CEILING_CPU_FRACTION, CEILING_MEMORY_FRACTION = 0.80, 0.90


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of node: its type, its share of the nodes, and its use.

    Parameters
    ----------
    share : float
        The share of all nodes that have this kind.
    containers, most_containers : float, int
        The usual and the largest number of containers of a node.
    others_cpu : float
        The CPU that processes outside containers use, as a fraction.
    cpu : tuple of float
        Mean CPU of the least busy node, of the node at quantile ``FEW``, and of the busiest
        node.
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


#: Instance types and on-demand prices of a cloud provider, in USD an hour. The use of all nodes
#: together has the published quantiles.
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
#: CPU and memory of the large nodes that are nearly idle, and their largest number of containers.
IDLE, IDLE_CONTAINERS = ((0.08, 0.70), (0.22, 0.15)), 2
#: The mean use whose peaks stay below the ceiling.
FULL = (0.66, 0.82)


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """The nodes of a cluster with spare nodes.

    Parameters
    ----------
    level : float64, shape (nodes, 2)
        Mean CPU and memory, fractions.
    idle : bool, shape (nodes,)
        The large nodes that are nearly idle.
    """

    sizes: NodeSizes
    level: FloatArray
    idle: BoolArray

    def of_kind(self, values: list[float]) -> FloatArray:
        """Return the value for the kind of each node, shape (nodes,)."""
        return np.array(values)[self.sizes.shape]


def draw_nodes(preset: Preset, seeds: Seeds) -> Nodes:
    """Draw the kinds of nodes, and their mean use evenly from the ranges of each kind."""
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
    """Choose the spare nodes, bool of shape (nodes,).

    Without them the whole use fills the other nodes to ``FULL``.

    They are the small nodes with the most memory in use, so that the remaining nodes are alike.
    """
    capacity = nodes.sizes.capacity[:, : MEMORY + 1].astype(np.float64)
    needed = (nodes.level * capacity).sum(axis=0) / FULL
    small = np.flatnonzero(nodes.sizes.shape == SMALL)
    count = int(((capacity.sum(axis=0) - needed) / capacity[small[0]]).min())
    spare = np.zeros(len(capacity), dtype=np.bool_)
    spare[small[np.argsort(-nodes.level[small, MEMORY], kind="stable")[:count]]] = True
    return spare


#: A right request is a percentile of use plus a margin, as the Vertical Pod Autoscaler computes it.
RIGHT_PERCENTILE, RIGHT_MARGIN = 0.9, 0.15
#: The share of containers that request ``FACTOR`` times their need, or their limit; and the share
#: of large containers, which request their limit.
OVER_STATED, FACTOR, BIG = 0.85, 2.9, 0.34
#: The requested shares of large and of small nodes.
LARGE_REQUESTED, SMALL_REQUESTED = 0.94, 0.78
#: CPU in use of a container with a right request, of one with a GPU, of one on a tainted node; and
#: the largest limit of bound containers.
USED_CORES, GPU_CORES, TAINTED_CORES, MOST_CORES = 0.15, 1.4, 0.75, 12
#: The least use, as a fraction of the limit, of services that need a GPU.
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
        Mean use of a container, in millicores and bytes.
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
    """Draw limits and requests that fill the nodes, for given use as a fraction of the limits.

    All small containers use about the same amount of CPU; their limits follow from the fraction.
    Memory is in proportion to the CPU in use. Requests for memory are not over-stated.

    Parameters
    ----------
    bound : int64, shape (services,)
        The result of ``bound_to``.
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
    """Return each service's CPU at the ``RIGHT_PERCENTILE`` of its call rate, over its mean CPU."""
    calls = np.quantile(activity, RIGHT_PERCENTILE, axis=1)
    return np.asarray(1 - cpu_signal + cpu_signal * calls)


def _right_fractions(services: Services, busy: FloatArray) -> FloatArray:
    """The right request of each service, as a fraction of its limit."""
    noise = 1 + NOISE_SD * shapes.normal(np.array([RIGHT_PERCENTILE]))[0]
    return np.asarray(np.minimum(services.cpu_fraction * busy * noise * (1 + RIGHT_MARGIN), 1))


def _big(services: Services, over: BoolArray, nodes: Nodes) -> BoolArray:
    """Services of large containers: those with the least use, at most one on each large node."""
    large = int(((nodes.sizes.shape == LARGE) & ~nodes.idle).sum())
    can = over & (services.sizes <= large)
    by_use = np.argsort(np.where(can, services.cpu_fraction, np.inf), kind="stable")
    many = np.cumsum(services.sizes[by_use]) > BIG * services.sizes.sum()
    can[by_use[many]] = False
    return can


def _big_cores(services: Services, big: BoolArray, nodes: Nodes) -> float:
    """The cores of a large container, such that the containers of a large node fill it."""
    large = ((nodes.sizes.shape == LARGE) & ~nodes.idle).sum()
    on_each = np.ceil(services.sizes[big].sum() / large)
    return float(LARGE_REQUESTED * KINDS[LARGE].shape.cpu_cores / on_each)


def _used_cores(
    services: Services, over: BoolArray, bound: IntArray, part: FloatArray, nodes: Nodes
) -> FloatArray:
    """Cores in use of a small container of each service; ``part`` is the request over the limit."""
    rest = nodes.sizes.capacity[np.isin(nodes.sizes.shape, (SMALL, GPU)), CPU].sum() / 1000
    requested = services.sizes @ (part / services.cpu_fraction * over)
    used = np.where(over, SMALL_REQUESTED * rest / requested, USED_CORES)
    used[bound == GPU], used[bound == TAINTED] = GPU_CORES, TAINTED_CORES
    return used


def _in_steps(amounts: FloatArray | IntArray, step: int = MILLI_STEP) -> IntArray:
    return (np.maximum(amounts // step, 1) * step).astype(np.int64)


def bound_to(services: Services, kind: IntArray) -> IntArray:
    """Return the kind of the only nodes on which each service can run, shape (services,).

    The kind is -1 for a service that can run on all nodes.

    Some services of few containers need a GPU (one container for each GPU) or tolerate the taint.
    """
    sizes = services.sizes
    bound = np.full(len(sizes), -1, dtype=np.int64)
    by_size = np.argsort(-sizes, kind="stable")
    for special, on_each, least in ((GPU, 1, LEAST_GPU_FRACTION), (TAINTED, 4, 0.0)):
        nodes = int((kind == special).sum())
        left = on_each * nodes
        fit = (bound < 0) & (sizes <= nodes) & (services.cpu_fraction > least)
        for service in by_size[fit[by_size]]:
            if sizes[service] <= left:
                bound[service] = special
                left -= int(sizes[service])
    return bound
