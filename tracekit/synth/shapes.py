"""Distributions of the real trace, and random draws from them.

The numbers are statistics published about, or measured on head rows of, the Alibaba microservices
trace of 2021 (quantiles of 999 rows of Node and of MSResource, fits to them, and whole-table counts
printed in public notebooks).
"""

import zlib
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import special

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.errors import TracekitError

#: Beijing time of day at which the trace starts, in hours.
START_HOUR = 9.0

#: Nodes whose CPU is nearly idle, and the quantiles of all others.
NODE_IDLE_SHARE = 0.018
NODE_PROBABILITIES = (0.0, 0.03, 0.08, 0.24, 0.49, 0.75, 0.90, 0.95, 0.99, 1.0)
NODE_CPU_QUANTILES = (0.40, 0.523, 0.594, 0.660, 0.710, 0.750, 0.777, 0.793, 0.830, 0.865)
NODE_MEMORY_QUANTILES = (0.66, 0.699, 0.717, 0.742, 0.761, 0.778, 0.798, 0.813, 0.837, 0.860)
CONTAINER_CPU_LOGNORMAL = (-1.885, 0.668)
CONTAINER_MEMORY_BETA = (7.89, 4.13)
#: Share of the variance of container usage that lies between services.
BETWEEN_SERVICES_SHARE = 0.95
#: exp(sigma^2) is services / effective number of services: 1300 / 214.
SERVICE_SIZE_SIGMA = 1.343
#: Noise stays within so many standard deviations.
BOUND = 2.5


def strata(rng: np.random.Generator, count: int) -> FloatArray:
    """Return the probabilities (i + 0.5) / count for i from 0 to count - 1, in random order."""
    return (rng.permutation(count) + 0.5) / count


def weighted_ranks(score: FloatArray, weight: IntArray) -> FloatArray:
    """Return the weighted rank of each score, 0..1: the mid-point of its cumulated weight."""
    order = np.argsort(score, kind="stable")
    ends = np.cumsum(weight[order]) / weight.sum()
    ranks = np.empty(len(score))
    ranks[order] = ends - weight[order] / weight.sum() / 2
    return ranks


def normal(probability: FloatArray) -> FloatArray:
    """Return quantiles of the standard normal distribution."""
    return np.asarray(special.ndtri(probability))


def beta(probability: FloatArray, a: float, b: float) -> FloatArray:
    """Return quantiles of the Beta(a, b) distribution."""
    return np.asarray(special.betaincinv(a, b, probability))


def bounded(noise: FloatArray, limit: float = BOUND) -> FloatArray:
    """Return ``limit`` * tanh(noise / ``limit``), which stays within ``limit``."""
    return limit * np.tanh(noise / limit)


def autoregressive(rng: np.random.Generator, rows: int, columns: int, keep: float) -> FloatArray:
    """Draw AR(1) noise of unit variance along the second axis, shape (rows, columns)."""
    noise = rng.standard_normal((columns, rows))
    noise[1:] *= np.sqrt(1 - keep**2)
    for at in range(1, columns):
        noise[at] += keep * noise[at - 1]
    return np.ascontiguousarray(noise.T)


def daily(hour: FloatArray) -> FloatArray:
    """Return the load at a time of day in hours, -1..1: highest at 16, low at night.

    The real call files are largest for 15:40 to 17:20.
    """
    day = 2 * np.pi / 24
    return 0.85 * np.cos(day * (hour - 16.0)) + 0.15 * np.cos(2 * day * (hour - 16.0))


#: 2020-06-12 01:00:00 UTC, the start of the real trace, as its trace ids show.
EPOCH_MS = 1_591_923_600_000


@dataclass(frozen=True)
class Seeds:
    """Independent random streams from one seed; use of one stream changes no other.

    Raises TracekitError for a negative seed.
    """

    seed: int

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise TracekitError(f"the seed is {self.seed}, expected 0 or more")

    def stream(self, concern: str, number: int = 0) -> np.random.Generator:
        """Return the stream of a concern; ``number`` is a part of it: a file, an hour, a minute."""
        key = (zlib.crc32(concern.encode()), number)
        return np.random.Generator(
            np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=key))
        )


def hashes(rng: np.random.Generator, count: int) -> pl.Series:
    """Draw ids of nodes, containers, services or interfaces: 64 hex digits each."""
    digits = rng.bytes(32 * count).hex()
    return pl.Series([digits[at : at + 64] for at in range(0, 64 * count, 64)], dtype=pl.String)


def trace_ids(rng: np.random.Generator, born_ms: IntArray) -> pl.Series:
    """Draw trace ids of 30 hex digits. Digits 9 to 21 are the trace's birth in epoch ms."""
    digits = rng.bytes(6 * len(born_ms)).hex()
    return pl.Series(
        [
            f"0b{piece[:6]}{EPOCH_MS + time_ms}{int(piece[6], 16) % 10}000e{piece[7:11]}"
            for time_ms, piece in zip(
                born_ms.tolist(),
                (digits[at : at + 12] for at in range(0, len(digits), 12)),
                strict=True,
            )
        ],
        dtype=pl.String,
    )
