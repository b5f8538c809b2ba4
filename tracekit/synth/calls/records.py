"""What the trace records of each call: one end or both, names known or not, files and order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.synth import shapes
from tracekit.synth.arrays import Bools, Ints
from tracekit.synth.calls.directory import INTERFACES, RPC_TYPES, Directory
from tracekit.synth.calls.trees import Calls, grow
from tracekit.synth.calls.truth import Batch, call_truth, trace_truth
from tracekit.synth.ids import trace_ids
from tracekit.synth.presets import Preset
from tracekit.synth.seeds import Seeds
from tracekit.units import MS_PER_HOUR

UNKNOWN = "(?)"
#: Who records a call, by type in the order of RPC_TYPES: both ends, the called end only (response
#: time negative); otherwise the calling end. Fits the real shares of negative response times:
#: rpc 41 %, http 51 %, mq 27 %, others none.
BOTH_ENDS = np.array([0.25, 0.05, 0.0, 0.0, 0.0, 0.0])
CALLED_END = np.array([0.26, 0.48, 0.0, 0.0, 0.27, 0.0])
ENTRY_CALLED_END = 0.7
#: Entries that left no record although the calls below them did.
ENTRY_LOST = 0.4
#: Each end of an rpc or http call at times does not know the other.
OTHER_END_UNKNOWN = 0.27
CALLER_UNKNOWN = 0.02
BOTH_UNKNOWN_SELF = 0.13
_CALLING = 2
_SELF = RPC_TYPES.index("userDefined")
#: Traces start this long before the end, so that their calls end within it.
LAST_START_MS = 120_000
RUNS_PER_FILE = 40


@dataclass(frozen=True, kw_only=True)
class CallFile:
    """One MSCallGraph file: its rows, and the truth about the traces that start in it."""

    rows: pl.DataFrame
    traces: pl.DataFrame
    calls: pl.DataFrame


def call_files(preset: Preset, seeds: Seeds, directory: Directory) -> Iterator[CallFile]:
    """The MSCallGraph files in order; rows that are later than a file's end go to the next."""
    starts = _trace_starts(preset, seeds)
    files = preset.horizon_ms // preset.call_file_ms
    rest: pl.DataFrame | None = None
    for number in range(files):
        end_ms = (number + 1) * preset.call_file_ms
        inside = (starts >= end_ms - preset.call_file_ms) & (starts < end_ms)
        rng = seeds.stream("calls", number)
        calls = grow(rng, directory, int(inside.sum()))
        batch = Batch(
            calls=calls,
            ends=_ends(rng, calls),
            start_ms=starts[inside],
            ids=trace_ids(seeds.stream("trace ids", number), starts[inside]),
        )
        rows = _printed(rng, directory, batch)
        rows = rows if rest is None else pl.concat([rest, rows])
        later = rows["timestamp"] >= end_ms if number + 1 < files else rows["timestamp"] < 0
        rest = rows.filter(later)
        yield CallFile(
            rows=_in_file_order(rng, rows.filter(~later)),
            traces=trace_truth(batch),
            calls=call_truth(directory, batch),
        )


def _trace_starts(preset: Preset, seeds: Seeds) -> Ints:
    """When traces start, following the daily curve; ms, sorted, shape (traces,)."""
    rng = seeds.stream("trace starts")
    grid_ms = np.linspace(0, preset.horizon_ms - LAST_START_MS, 2000)
    load = 1 + 0.3 * shapes.daily(shapes.START_HOUR + grid_ms / MS_PER_HOUR)
    reached = np.concatenate([[0.0], np.cumsum((load[1:] + load[:-1]) / 2)])
    drawn = np.interp(rng.random(preset.traces) * reached[-1], reached, grid_ms)
    return np.sort(drawn.astype(np.int64))


def _ends(rng: np.random.Generator, calls: Calls) -> tuple[Bools, Bools]:
    """Whether the calling and the called end recorded each call; some entries neither did."""
    draw = rng.random(len(calls.kind))
    both = draw < BOTH_ENDS[calls.kind]
    called = ~both & (draw < (BOTH_ENDS + CALLED_END)[calls.kind])
    entry = calls.parent < 0
    called = np.where(entry, draw < ENTRY_CALLED_END, called)
    both &= ~entry & (calls.duration_ms > 0)
    has_calls = np.isin(np.arange(len(entry)), calls.parent)
    lost = entry & has_calls & (rng.random(len(entry)) < ENTRY_LOST)
    return (both | ~called) & ~lost, (both | called) & ~lost


def _printed(rng: np.random.Generator, directory: Directory, batch: Batch) -> pl.DataFrame:
    """The records of calls, the calling ends' first."""
    calls, start_ms, ids = batch.calls, batch.start_ms, batch.ids
    calling = np.flatnonzero(batch.ends[0])
    call = np.concatenate([calling, np.flatnonzero(batch.ends[1])])
    called_end = np.arange(len(call)) >= len(calling)
    time_ms = start_ms[calls.trace[call]] + calls.offset_ms[call].astype(np.int64)
    duration = calls.duration_ms[call].astype(np.int64)
    network = np.minimum(rng.integers(0, 3, size=len(call)), np.maximum(duration - 1, 0))
    caller, callee = _names(rng, directory, calls, call, called_end)
    return pl.DataFrame(
        {
            "traceid": ids.gather(calls.trace[call]),
            "timestamp": time_ms,
            "rpcid": calls.rpc_id.gather(call),
            "um": caller,
            "rpctype": pl.Series(RPC_TYPES).gather(calls.kind[call]),
            "dm": callee,
            "interface": _interfaces(rng, directory, calls, call),
            "rt": np.where(called_end, network - duration, duration),
        }
    )


def _names(
    rng: np.random.Generator, directory: Directory, calls: Calls, call: Ints, called_end: Bools
) -> tuple[pl.Series, pl.Series]:
    """Caller and callee as printed: an end knows itself, and most of the time the other one."""
    kind = calls.kind[call]
    draw = rng.random(len(call))
    other = (kind < _CALLING) & (draw < OTHER_END_UNKNOWN)
    neither = (kind == _SELF) & (draw < BOTH_UNKNOWN_SELF)
    entry = calls.parent[call] < 0
    no_caller = entry | (other & called_end) | neither
    no_caller |= (kind >= _CALLING) & (draw < CALLER_UNKNOWN)
    no_callee = (other & ~called_end & ~entry) | neither
    names = pl.concat([directory.services, pl.Series([UNKNOWN, ""])])
    unknown = len(names) - 2
    bare = entry & (calls.rpc_id.gather(call) == "0").to_numpy()
    caller = np.where(no_caller, unknown, calls.caller[call])
    callee = np.where(no_callee, unknown, calls.callee[call])
    return names.gather(np.where(bare, unknown + 1, caller)), names.gather(callee)


def _interfaces(
    rng: np.random.Generator, directory: Directory, calls: Calls, call: Ints
) -> pl.Series:
    """The called interface of rpc and http calls, the same at both ends; empty for the others."""
    which = (rng.random(len(calls.kind)) ** 2 * INTERFACES).astype(np.int64)
    names = pl.concat([directory.interfaces, pl.Series([""])])
    at = calls.callee * INTERFACES + which
    return names.gather(np.where(calls.kind < _CALLING, at, len(names) - 1)[call])


def _in_file_order(rng: np.random.Generator, rows: pl.DataFrame) -> pl.DataFrame:
    """Runs of mixed traces: neither sorted by time nor kept together by trace."""
    run = rng.integers(RUNS_PER_FILE, size=rows.height)
    home = rows["traceid"].str.slice(26).str.to_integer(base=16).to_numpy() % RUNS_PER_FILE
    stays = rng.random(rows.height) < 0.8
    keyed = rows.with_columns(pl.Series("run", np.where(stays, home, run)))
    return keyed.sort("run", "timestamp", maintain_order=True).drop("run")
