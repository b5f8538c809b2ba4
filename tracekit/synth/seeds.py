"""One seed, one child stream per concern; and original ids as the trace spells them."""

import zlib
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError

#: 2020-06-12 01:00:00 UTC, the start of the real trace, which its trace ids give away.
EPOCH_MS = 1_591_923_600_000


@dataclass(frozen=True)
class Seeds:
    """Random streams that do not disturb each other, whatever is added later.

    Raises TracekitError for a negative seed.
    """

    seed: int

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise TracekitError(f"the seed is {self.seed}, expected 0 or more")

    def stream(self, concern: str, number: int = 0) -> np.random.Generator:
        """The stream of a concern; ``number`` tells apart its parts: a file, an hour, a minute."""
        key = (zlib.crc32(concern.encode()), number)
        return np.random.Generator(
            np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=key))
        )


def hashes(rng: np.random.Generator, count: int) -> pl.Series:
    """Ids of nodes, containers, services and interfaces: 64 hex digits each."""
    digits = rng.bytes(32 * count).hex()
    return pl.Series([digits[at : at + 64] for at in range(0, 64 * count, 64)], dtype=pl.String)


def trace_ids(rng: np.random.Generator, born_ms: IntArray) -> pl.Series:
    """Trace ids of 30 hex digits; digits 9 to 21 are the birth of the trace in epoch ms."""
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
