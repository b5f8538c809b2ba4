"""The truth about traces and their calls, whatever was recorded of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.arrays import BoolArray, IntArray
from tracekit.synth.calls.directory import RPC_TYPES, Directory
from tracekit.synth.calls.trees import Calls


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Traces that start in the same file, and which ends recorded each of their calls."""

    calls: Calls
    ends: tuple[BoolArray, BoolArray]
    start_ms: IntArray
    ids: pl.Series


def trace_truth(batch: Batch) -> pl.DataFrame:
    """trace_id, start_ms, duration_ms, calls, records, depth (dots of the deepest rpc id)."""
    calls, start_ms, ends = batch.calls, batch.start_ms, batch.ends
    count = len(start_ms)
    records = ends[0].astype(np.int64) + ends[1]
    depth = np.zeros(count, dtype=np.int64)
    dots = calls.rpc_id.str.count_matches(".", literal=True).cast(pl.Int64).to_numpy()
    np.maximum.at(depth, calls.trace, dots)
    return pl.DataFrame(
        {
            "trace_id": batch.ids,
            "start_ms": start_ms,
            "duration_ms": calls.duration_ms[:count].astype(np.int64),
            "calls": np.bincount(calls.trace, minlength=count),
            "records": np.bincount(calls.trace, weights=records, minlength=count).astype(np.int64),
            "depth": depth,
        }
    )


def call_truth(directory: Directory, batch: Batch, one_in: int) -> pl.DataFrame:
    """One row per call with the true names, whoever recorded it; no caller for entries.

    Of the traces only one in ``one_in`` is told about.
    """
    calls, start_ms, ends = batch.calls, batch.start_ms, batch.ends
    kept = np.flatnonzero(calls.trace % one_in == 0)
    trace, caller = calls.trace[kept], calls.caller[kept]
    names = pl.concat([directory.services, pl.Series([None], dtype=pl.String)])
    return pl.DataFrame(
        {
            "trace_id": batch.ids.gather(trace),
            "path": calls.rpc_id.gather(kept),
            "caller_id": names.gather(np.where(calls.parent[kept] < 0, len(names) - 1, caller)),
            "callee_id": directory.services.gather(calls.callee[kept]),
            "kind": pl.Series(RPC_TYPES).gather(calls.kind[kept]),
            "start_ms": start_ms[trace] + calls.offset_ms[kept].astype(np.int64),
            "duration_ms": calls.duration_ms[kept].astype(np.int64),
            "by_caller": ends[0][kept],
            "by_callee": ends[1][kept],
        }
    )
