"""The services of a made-up trace: their containers, their use, and the cost of a call.

Capacities of nodes and requests of services differ, as in published clusters.

*Nodes*: the machine types of a Google cell of 12,583 machines (Reiss et al., SoCC 2012, table 1;
those above 0.5 % of the cell): half-sized machines with a half, a quarter or three quarters of the
memory, whole ones, and quarters. Published sizes are relative; a whole is read here as 128 cores
and 512 GiB, so that the commonest machine has 64 cores, as in Alibaba's trace of 2017. Disk per
core lies between the values of Alibaba's scheduling contest of 2018 (1,440 GB for 32 cores, 2,457
for 92). The network card of 30 Gbit/s for 64 cores, and the prices per core and GiB, follow the
offers of public clouds.

*Containers*: the applications of the same contest (preliminary round B, 68,224 instances of 9,338
applications): a container has the highest CPU that its application ever uses, rounded up to a power
of two of cores, the highest memory likewise, and its disk. Shares of containers, and agreement in
rank (CPU and memory 0.5, memory and disk 0.27), are those of the contest. The two largest sizes,
0.8 % of CPU and 0.6 % of memory, are left out, because no node has room for them beside other
containers.

*Without a source*: all containers of a service have one size; three tenths of the services request
half of their limits, all others their limits; the requested network is an amount per core that
depends on the kind of service.

Usage in the trace is a fraction of a container's limit, and of a node's capacity.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.units import BYTES_PER_GIB
from tracekit.synth import shapes
from tracekit.synth.presets import Preset
from tracekit.synth.shapes import Seeds, hashes

#: The pairs of metrics of each kind of service; the calls of the first pair drive the CPU.
#: providerMQ_* is in the release's README, but never in its files.
METRIC_PAIRS: dict[str, tuple[str, ...]] = {
    "rpc": ("providerRPC", "consumerRPC"),
    "http": ("providerRPC", "HTTP", "consumerRPC"),
    "queue": ("providerRPC", "consumerMQ", "consumerRPC"),
    "gateway": ("HTTP", "consumerRPC"),
}
#: providerRPC exists for 93 % of the services (1,213 of 1,300 in each minute): all but gateways.
#: Pairs whose two metrics hold the same numbers (alibaba/clusterdata issue 120), and how often.
MIRRORED_PAIRS = ("HTTP", "consumerMQ")
MIRRORED_SHARE = 0.8
#: The largest share of containers that one service of a small trace has.
LARGEST_SHARE = 0.08
NOISE_SD = 0.065


@dataclass(frozen=True, kw_only=True)
class Services:
    """The planted properties of each service; arrays of shape (services,).

    Parameters
    ----------
    cpu_fraction, memory_fraction : float64
        Usual use of one container, 0..1.
    rate_per_s : float64
        Calls per second that one container answers on average.
    latency_ms : float64
        Usual response time.
    negative : bool
        Whether CPU falls when calls rise, as for 9 % of the real services.
    fit_share : float64
        The intended R^2 of the regression of a container's CPU on its call rate, 0..1.
    mirrored : bool
        Whether HTTP_RT and consumerMQ_RT repeat HTTP_MCR and consumerMQ_MCR.
    """

    ids: pl.Series
    sizes: IntArray
    kinds: IntArray
    cpu_fraction: FloatArray
    memory_fraction: FloatArray
    rate_per_s: FloatArray
    latency_ms: FloatArray
    fit_share: FloatArray
    negative: BoolArray
    mirrored: BoolArray

    @property
    def kind_names(self) -> list[str]:
        """The kind of each service, a key of ``METRIC_PAIRS``."""
        names = list(METRIC_PAIRS)
        return [names[kind] for kind in self.kinds]


def make_services(preset: Preset, seeds: Seeds) -> Services:
    """Draw the services of a trace."""
    count = preset.services
    cap = int(min(0.85 * preset.nodes, max(LARGEST_SHARE, 2 / count) * preset.containers))
    sizes = container_counts(seeds.stream("service sizes"), count, preset.containers, cap)
    cpu, memory = _usage_levels(seeds.stream("service usage"), sizes)
    rates = seeds.stream("service rates")
    fit = seeds.stream("service fit")
    return Services(
        ids=hashes(seeds.stream("service ids"), count),
        sizes=sizes,
        kinds=_kinds(seeds.stream("service kinds"), preset),
        cpu_fraction=cpu,
        memory_fraction=memory,
        rate_per_s=np.exp(np.log(12.0) + 1.5 * shapes.normal(shapes.strata(rates, count))),
        latency_ms=np.exp(np.log(6.0) + 1.1 * rates.standard_normal(count)),
        fit_share=0.9 * shapes.beta(shapes.strata(fit, count), 0.8, 2.4),
        negative=shapes.strata(fit, count) < 0.092,
        mirrored=shapes.strata(fit, count) < MIRRORED_SHARE,
    )


def container_counts(
    rng: np.random.Generator, services: int, containers: int, cap: int
) -> IntArray:
    """Return containers of each service: heavy-tailed, 1..cap, with the sum ``containers``."""
    weight = np.exp(shapes.SERVICE_SIZE_SIGMA * shapes.normal(shapes.strata(rng, services)))
    low, high = 0.0, float(containers) / weight.min()
    for _ in range(80):
        middle = (low + high) / 2
        full = np.minimum(middle * weight, cap - 1).sum() >= containers - services
        low, high = (low, middle) if full else (middle, high)
    wanted = np.minimum(high * weight, cap - 1)
    sizes: IntArray = 1 + np.floor(wanted + 1e-9).astype(np.int64)
    missing = containers - int(sizes.sum())
    most = np.argsort(np.where(sizes < cap, np.floor(wanted) - wanted, 1), kind="stable")
    sizes[most[:missing]] += 1
    return sizes


def _kinds(rng: np.random.Generator, preset: Preset) -> IntArray:
    edges = np.cumsum(preset.kind_shares)
    drawn = np.searchsorted(edges, shapes.strata(rng, preset.services), side="right")
    return np.minimum(drawn, len(edges) - 1).astype(np.int64)


def _usage_levels(rng: np.random.Generator, sizes: IntArray) -> tuple[FloatArray, FloatArray]:
    """CPU and memory levels, so that containers, not services, follow the real distribution."""
    rank = rng.standard_normal(len(sizes))
    other = 0.35 * rank + np.sqrt(1 - 0.35**2) * rng.standard_normal(len(sizes))
    mean, sd = shapes.CONTAINER_CPU_LOGNORMAL
    spread = sd * np.sqrt(shapes.BETWEEN_SERVICES_SHARE)
    cpu = np.exp(mean + spread * shapes.normal(shapes.weighted_ranks(rank, sizes)))
    memory = shapes.beta(shapes.weighted_ranks(other, sizes), *shapes.CONTAINER_MEMORY_BETA)
    return cpu, memory


#: Resources in the order of the columns of all arrays here.
RESOURCES = ("cpu_milli", "memory_bytes", "disk_bytes", "net_kbit_per_s")
CPU, MEMORY = 0, 1


@dataclass(frozen=True)
class NodeShape:
    """A kind of machine; ``machines`` is its number in a published cell of 12,583 machines."""

    name: str
    machines: int
    cpu_cores: int
    memory_gib: int
    price_per_hour: float
    gpus: int = 0
    taint: str = ""


NODE_SHAPES = (
    NodeShape("standard", 6_732, 64, 256, 3.0976),
    NodeShape("low-memory", 3_863, 64, 128, 2.56),
    NodeShape("high-memory", 1_001, 64, 384, 3.6352),
    NodeShape("large", 795, 128, 512, 6.1952),
    NodeShape("small", 126, 32, 128, 1.5488),
)
DISK_GIB_PER_CORE = 32
NET_KBIT_PER_CORE = 468_750
#: Nodes of a rack and of a fault domain: 4,034 machines in 292 and in 21 (Alibaba's trace of 2018).
RACK_NODES, DOMAIN_NODES = 14, 192

CPU_CORES = {1: 0.259, 2: 0.145, 4: 0.203, 8: 0.295, 16: 0.098}
MEMORY_GIB = {1: 0.012, 2: 0.046, 4: 0.010, 8: 0.745, 16: 0.167, 32: 0.020}
DISK_GIB = {40: 0.078, 60: 0.790, 80: 0.036, 100: 0.072, 200: 0.024}
CPU_AND_MEMORY, MEMORY_AND_DISK = 0.5, 0.27
#: Requested network per core, by the kind of service; services at the edge request most.
KIND_KBIT_PER_CORE = {"rpc": 250_000, "http": 500_000, "queue": 500_000, "gateway": 1_000_000}
HALF_SHARE = 0.3


@dataclass(frozen=True, kw_only=True)
class NodeSizes:
    """The capacities of nodes.

    Parameters
    ----------
    kinds : tuple of NodeShape
    shape : int64, shape (nodes,)
        Position in ``kinds``.
    capacity : int64, shape (nodes, resources)
    """

    kinds: tuple[NodeShape, ...]
    shape: IntArray
    capacity: IntArray

    @property
    def special(self) -> BoolArray:
        """The nodes with a GPU or a taint, shape (nodes,)."""
        return np.array([bool(kind.gpus or kind.taint) for kind in self.kinds])[self.shape]


@dataclass(frozen=True, kw_only=True)
class ServiceSizes:
    """Requests and limits of each service's containers; int64, shape (services, resources)."""

    request: IntArray
    limit: IntArray


def node_sizes(preset: Preset, seeds: Seeds) -> NodeSizes:
    """Draw a shape for each node, as close to the published proportions as whole nodes allow."""
    shares = np.array([shape.machines for shape in NODE_SHAPES], dtype=np.float64)
    drawn = shapes.strata(seeds.stream("node shapes"), preset.nodes)
    shape = _at(drawn, shares)
    return NodeSizes(kinds=NODE_SHAPES, shape=shape, capacity=capacities(NODE_SHAPES)[shape])


def capacities(kinds: Sequence[NodeShape]) -> IntArray:
    """Return the capacity of a node of each kind, int64, shape (kinds, resources)."""
    return np.array(
        [
            (
                kind.cpu_cores * 1000,
                kind.memory_gib * BYTES_PER_GIB,
                kind.cpu_cores * DISK_GIB_PER_CORE * BYTES_PER_GIB,
                kind.cpu_cores * NET_KBIT_PER_CORE,
            )
            for kind in kinds
        ],
        dtype=np.int64,
    )


def service_sizes(seeds: Seeds, containers: IntArray, kinds: list[str]) -> ServiceSizes:
    """Draw the sizes of services so that the stated shares hold for containers, not for services.

    Parameters
    ----------
    containers : int64, shape (services,)
        The number of containers of each service.
    kinds : list of str
        The kind of each service, as in ``KIND_KBIT_PER_CORE``.
    """
    rng = seeds.stream("service sizes planted")
    first, second, third = rng.standard_normal((3, len(containers)))
    memory_score = _mixed(first, second, CPU_AND_MEMORY)
    disk_score = _mixed(memory_score, third, MEMORY_AND_DISK)
    cores = drawn(first, containers, CPU_CORES)
    limit = np.stack(
        [
            cores * 1000,
            drawn(memory_score, containers, MEMORY_GIB) * BYTES_PER_GIB,
            drawn(disk_score, containers, DISK_GIB) * BYTES_PER_GIB,
            cores * np.array([KIND_KBIT_PER_CORE[kind] for kind in kinds], dtype=np.int64),
        ],
        axis=1,
    )
    half = shapes.strata(rng, len(containers)) < HALF_SHARE
    request = limit.copy()
    request[half, : MEMORY + 1] //= 2
    return ServiceSizes(request=request, limit=limit)


def _mixed(score: FloatArray, other: FloatArray, agreement: float) -> FloatArray:
    return np.asarray(agreement * score + np.sqrt(1 - agreement**2) * other)


def drawn(score: FloatArray, containers: IntArray, shares: dict[int, float]) -> IntArray:
    """Return a size for each service; services of higher score get later sizes of ``shares``.

    ``shares`` maps each size to its share of containers, not of services.
    """
    ranks = shapes.weighted_ranks(score, containers)
    return np.array(list(shares), dtype=np.int64)[_at(ranks, np.array(list(shares.values())))]


def _at(probability: FloatArray, shares: FloatArray) -> IntArray:
    """The position of the share that each probability falls into."""
    edges = np.cumsum(shares) / shares.sum()
    position = np.searchsorted(edges, probability, side="right")
    return np.minimum(position, len(shares) - 1).astype(np.int64)
