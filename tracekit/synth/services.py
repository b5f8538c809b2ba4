"""The services of a made-up trace: how many containers, how busy, and what a call costs."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.synth import shapes
from tracekit.synth.presets import Preset
from tracekit.synth.seeds import Seeds, hashes

#: What services of a kind report, the first pair being the calls that drive their CPU.
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
    """What is planted about each service; arrays of shape (services,).

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
        R^2 aimed at for the regression of a container's CPU on its call rate, 0..1.
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
    sizes = service_sizes(seeds.stream("service sizes"), count, preset.containers, cap)
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


def service_sizes(rng: np.random.Generator, services: int, containers: int, cap: int) -> IntArray:
    """Containers of each service: heavy-tailed, 1..cap, with the sum ``containers``."""
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
