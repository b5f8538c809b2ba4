"""Keys for the call traces of the whole release, archive by archive: what they cost an ingest."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from tracekit.intake.ingest.dimensions import Dimension, extend

#: Archives of calls, traces in each, and those that began in the archive before.
ARCHIVES, TRACES, SHARED = 145, 116_700, 6_000
_DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)


def keys(folder: Path, *, quick: bool = False) -> None:
    """Give the traces of every archive their keys, and print what that took."""
    rng = np.random.Generator(np.random.PCG64(1))
    archives, traces, shared = (3, 200, 10) if quick else (ARCHIVES, TRACES, SHARED)
    dimension, before = Dimension(), _ids(rng, shared)
    spent: list[float] = []
    for number in range(archives):
        seen = pl.concat([before.head(shared), _ids(rng, traces - shared)])
        started = time.perf_counter()
        dimension, _ = extend(dimension, seen, folder / "keys" / f"{number}.parquet")
        spent.append(time.perf_counter() - started)
        before = seen.tail(shared)
    print(f"keys of {dimension.count:,} call traces in {archives} archives:")
    print(
        f"  {sum(spent):.1f} s in all; {spent[0]:.2f} s for the first archive,"
        f" {spent[archives // 2]:.2f} s half way, {spent[-1]:.2f} s for the last\n",
        flush=True,
    )


def _ids(rng: np.random.Generator, count: int) -> pl.Series:
    """Random ids of 64 hexadecimal digits."""
    nibbles = rng.integers(0, 16, (count, 64), dtype=np.uint8)
    offsets = np.arange(0, 64 * count + 1, 64, dtype=np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(_DIGITS[nibbles])]
    return pl.Series("id", pa.Array.from_buffers(pa.large_string(), count, buffers))
