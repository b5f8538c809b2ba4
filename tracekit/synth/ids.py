"""Original ids as the trace spells them."""

import numpy as np
import polars as pl

from tracekit.arrays import IntArray

#: 2020-06-12 01:00:00 UTC, the start of the real trace, which its trace ids give away.
EPOCH_MS = 1_591_923_600_000


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
