"""Readings from a store: nodes, containers and correlation zones, and services at equal rates.

Nodes and containers with fewer than ten samples are left out. A count of nodes is the share of
nodes times the 13,000 nodes of the study.
"""

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from tracekit.analysis.metrics import NORMAL_95
from tracekit.answer.claims.reading import (
    Reading,
    correlation_of,
    difference_of_means,
    difference_of_shares,
    mean_of,
    ratio_of,
    share_of,
)
from tracekit.base.arrays import FloatArray

#: Queries that the readings need.
PROFILE, HOSTS, CONTAINERS = (
    "usage/node_profile",
    "usage/node_containers",
    "usage/container_profile",
)
MEMBERS, DEPLOYED = "usage/cohort_members", "usage/zone_deployments"
BLOCKS, EQUAL_RATE = "usage/node_blocks", "services/at_equal_rate"
QUERIES = (PROFILE, HOSTS, CONTAINERS, MEMBERS, DEPLOYED, BLOCKS, EQUAL_RATE)
#: The fewest samples of a node or container that give a mean and a deviation over time.
FEWEST_SAMPLES = 10
#: The number of nodes in the study.
STUDY_NODES = 13_000
BUSY, IDLE, APART, SKEWED = 0.7, 0.3, 0.5, 0.3
FEW, MANY = 5, 12
_EDGE = 1e-9


def readings(frame: Callable[[str], pl.DataFrame]) -> Iterator[tuple[str, Reading]]:
    """Yield the measured number for each claim on a trace, from the frames of a store's queries."""
    profile = frame(PROFILE)
    if not profile.is_empty():
        nodes = profile.filter(pl.col("samples") >= FEWEST_SAMPLES)
        yield from _counts(nodes)
        yield from _nodes(nodes)
        yield from _zones(nodes, frame)
        if not frame(CONTAINERS).is_empty():
            yield from _containers(nodes, frame)
    rates = frame(EQUAL_RATE)
    if rates.columns:
        apart = rates["cpu_apart"].to_numpy()
        yield "equal_rate_cpu", _largest(np.abs(apart))
        yield "equal_rate_response", correlation_of(apart, rates["response_apart"].to_numpy())


def _counts(nodes: pl.DataFrame) -> Iterator[tuple[str, Reading]]:
    cpu, apart = nodes["cpu_mean"].to_numpy(), nodes["util_diff"].to_numpy()
    memory_above = nodes["memory_mean"].to_numpy() > cpu
    for name, those in {
        "busy_nodes": cpu >= BUSY - _EDGE,
        "idle_nodes": cpu < IDLE - _EDGE,
        "skewed_nodes": memory_above & (apart >= SKEWED - _EDGE),
        "far_apart": apart >= APART - _EDGE,
    }.items():
        yield name, share_of(int(those.sum()), len(those), scale=STUDY_NODES)


def _nodes(nodes: pl.DataFrame) -> Iterator[tuple[str, Reading]]:
    yield "node_memory", mean_of(nodes["memory_mean"])
    yield "node_cpu", mean_of(nodes["cpu_mean"])
    correlated = nodes.filter(pl.col("pearson_r").is_not_null())
    yield (
        "g_rises_with_r",
        correlation_of(
            correlated["pearson_r"].to_numpy(), correlated["util_diff"].to_numpy(), by_rank=True
        ),
    )


def _zones(
    nodes: pl.DataFrame, frame: Callable[[str], pl.DataFrame]
) -> Iterator[tuple[str, Reading]]:
    steadier = [
        mean_of(part["cpu_std"] - part["memory_std"])
        for zone in ("A", "B", "C")
        if not (part := nodes.filter(zone=zone)).is_empty()
    ]
    least = min(steadier, key=lambda one: (one.samples > 1, one.value or 0.0), default=Reading())
    yield "memory_steadier", least
    deployed = {row["zone"]: row for row in frame(DEPLOYED).iter_rows(named=True)}
    none = {"deployed_nodes": 0, "nodes": 0}
    c, b = (deployed.get(zone, none) for zone in ("C", "B"))
    shares = [(one["deployed_nodes"], one["nodes"]) for one in (c, b)]
    yield "zone_c_deploys", difference_of_shares(*shares)
    blocks = frame(BLOCKS)
    if blocks.columns:
        in_zone = nodes.filter(zone="A").select("node")
        shapes = [
            (has_period(cpu), has_cliff(cpu))
            for (_,), part in blocks.join(in_zone, on="node").group_by("node", maintain_order=True)
            if len(cpu := part["cpu_mean"].to_numpy())
        ]
        yield "zone_a_period", share_of(sum(one for one, _ in shapes), len(shapes))
        yield "zone_a_cliff", share_of(sum(one for _, one in shapes), len(shapes))


def _containers(
    nodes: pl.DataFrame, frame: Callable[[str], pl.DataFrame]
) -> Iterator[tuple[str, Reading]]:
    sampled = frame(CONTAINERS).filter(pl.col("samples") >= FEWEST_SAMPLES)
    on = sampled.group_by("node", maintain_order=True).agg(
        pl.len().alias("stays"), pl.col("cpu_mean", "cpu_std", "cpu_max").sum()
    )
    hosts = frame(HOSTS).select("node", "containers").join(nodes.select("node"), on="node")
    many = hosts["containers"]
    yield "containers_per_node", share_of(int(many.is_between(FEW, MANY).sum()), len(many))
    peak = ratio_of(_floats(on["cpu_max"]), _floats(on["stays"]))
    yield "container_cpu_peak", _counted(peak, sampled.height)
    members = frame(MEMBERS).join(nodes.select("node"), on="node")
    groups = {
        name: members.filter(cohort=name).select("node") for name in ("HIGH", "LOW", "MEMSKEW")
    }
    held = {name: hosts.join(one, on="node") for name, one in groups.items()}
    used = {name: on.join(one, on="node") for name, one in groups.items()}
    yield (
        "busy_nodes_hold_more",
        difference_of_means(
            _floats(held["HIGH"]["containers"]), _floats(held["LOW"]["containers"])
        ),
    )
    mean = {name: _floats(one["cpu_mean"]) / _floats(one["stays"]) for name, one in used.items()}
    yield "busy_nodes_busier_containers", difference_of_means(mean["HIGH"], mean["LOW"])
    skewed = used["MEMSKEW"]
    for name, column in {
        "skewed_container_cpu": "cpu_mean",
        "skewed_container_std": "cpu_std",
    }.items():
        read = ratio_of(_floats(skewed[column]), _floats(skewed["stays"]))
        yield name, _counted(read, int(skewed["stays"].sum()))


def _counted(read: Reading, samples: int) -> Reading:
    return Reading(value=read.value, low=read.low, high=read.high, samples=samples)


def _floats(values: pl.Series) -> FloatArray:
    return values.cast(pl.Float64).to_numpy()


def _largest(apart: FloatArray) -> Reading:
    """The 95th percentile, with its 95 % interval by order statistics."""
    finite = np.sort(apart[np.isfinite(apart)])
    if not len(finite):
        return Reading()
    half = NORMAL_95 * np.sqrt(len(finite) * 0.95 * 0.05)
    at = np.clip(np.rint(0.95 * len(finite) + np.array([-half, 0, half])), 0, len(finite) - 1)
    low, value, high = (float(finite[int(one)]) for one in at)
    return Reading(value=value, low=low, high=high, samples=len(finite))


# Shapes of a series over time: a period, and a cliff.

#: The least share of the variance that a cliff explains, and its least depth.
_CLIFF_SHARE, _CLIFF_DEPTH = 0.75, 0.1
#: The fewest turns of a period, and the fewest values of a series with one.
_TURNS, _SHORTEST = 2, 2
#: The probability that chance lifts the strongest frequency above Fisher's limit.
_CHANCE = 0.05


def has_period(series: FloatArray) -> bool:
    """Return whether one frequency stands out beyond chance (Fisher's test of the periodogram).

    The linear trend is removed first. A period must occur at least twice in the series.
    """
    values = series[np.isfinite(series)]
    count = len(values)
    if count < 4 * _SHORTEST or not np.ptp(values):
        return False
    at = np.arange(count)
    flat = values - np.polyval(np.polyfit(at, values, 1), at)
    power = np.square(np.abs(np.fft.rfft(flat)))[1 : (count - 1) // 2 + 1]
    whole = power.sum()
    if whole <= 1e-12 * count:
        return False
    limit = 1 - (_CHANCE / len(power)) ** (1 / (len(power) - 1))
    strongest = int(np.argmax(power))
    return bool(strongest + 1 >= _TURNS and power[strongest] / whole > limit)


def has_cliff(series: FloatArray) -> bool:
    """Return whether the series falls once, deep, and is level before and after."""
    values = series[np.isfinite(series)]
    count = len(values)
    variance = float(np.square(values - values.mean()).sum()) if count else 0.0
    if count < 4 or variance <= 1e-12:
        return False
    sums, cuts = np.cumsum(values), np.arange(1, count)
    before, after = sums[:-1] / cuts, (sums[-1] - sums[:-1]) / (count - cuts)
    explained = cuts * (count - cuts) / count * np.square(before - after) / variance
    at = int(np.argmax(explained))
    return bool(explained[at] >= _CLIFF_SHARE and before[at] - after[at] >= _CLIFF_DEPTH)
