"""Call rates and response times per container and minute: the MSRTQps files."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.units import MS_PER_MINUTE
from tracekit.synth.presets import MINUTES_PER_RATE_FILE, STEPS_PER_MINUTE
from tracekit.synth.services import METRIC_PAIRS, MIRRORED_PAIRS
from tracekit.synth.world import World

#: Calls of a pair per call of the first pair of its kind, which has a factor of 1.
PAIR_FACTORS = {"providerRPC": 1.0, "HTTP": 0.6, "consumerRPC": 1.7, "consumerMQ": 0.25}
LOAD_NOISE_SD = 0.02
_PAIRS = tuple(PAIR_FACTORS)


def calls_in_minute(world: World, minute: int) -> FloatArray:
    """Calls each container answers in the minute that ends at ``minute``, shape (containers,).

    Whole numbers: the trace prints them divided by 60.
    """
    containers = world.containers
    noise = world.seeds.stream("rate noise", minute).standard_normal(len(containers.service))
    rate = world.services.rate_per_s[containers.service] * containers.rate_share
    rate *= world.activity[containers.service, minute] * (1 + LOAD_NOISE_SD * noise)
    calls = np.rint(np.maximum(rate, 0) * 60)
    calls[-(-containers.first_step // STEPS_PER_MINUTE) > minute] = 0
    return np.asarray(calls)


def rate_minutes(world: World, number: int) -> range:
    """Minutes in MSRTQps file ``number``: half an hour, the last file holding only the end."""
    first = number * MINUTES_PER_RATE_FILE
    return range(first, min(first + MINUTES_PER_RATE_FILE, world.preset.minutes))


def rate_blocks(world: World, number: int) -> Iterator[pl.DataFrame]:
    """Rows of MSRTQps file ``number``, in no order at all, a group of containers at a time."""
    minutes = rate_minutes(world, number)
    calls = np.stack([calls_in_minute(world, minute) for minute in minutes], axis=1)
    rng = world.seeds.stream("rate rows", number)
    order = rng.permutation(world.preset.containers)
    size = world.preset.block_entities
    for start in range(0, len(order), size):
        yield _block(world, rng, order[start : start + size], minutes, calls)


def row_count(world: World, number: int) -> int:
    """Rows in MSRTQps file ``number``."""
    minutes = rate_minutes(world, number)
    pairs = np.array([len(metrics) for metrics in METRIC_PAIRS.values()])
    present = np.clip(minutes.stop - np.maximum(_first_minutes(world), minutes.start), 0, None)
    kinds = world.services.kinds[world.containers.service]
    return int((2 * pairs[kinds] * present).sum())


def _first_minutes(world: World) -> IntArray:
    return -(-world.containers.first_step // STEPS_PER_MINUTE)


def _block(
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
    """Both metrics of a pair: container, minute of the file, metric and value of each row."""
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
