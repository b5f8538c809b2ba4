"""Requests and limits of services: most ask for more CPU than they need."""

from dataclasses import dataclass

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.units import BYTES_PER_GIB, BYTES_PER_MIB
from tracekit.synth import shapes
from tracekit.synth.room.nodes import GPU, KINDS, LARGE, SMALL, TAINTED, Nodes
from tracekit.synth.seeds import Seeds
from tracekit.synth.services import NOISE_SD, Services
from tracekit.synth.sizes import CPU, KIND_KBIT_PER_CORE, ServiceSizes

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
