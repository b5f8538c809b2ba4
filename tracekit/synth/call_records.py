"""The records of calls: the ends that record a call, the names they print, their file and order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.units import MS_PER_HOUR
from tracekit.synth import shapes
from tracekit.synth.call_trees import INTERFACES, RPC_TYPES, SELF, Calls, Directory, grow
from tracekit.synth.presets import Preset
from tracekit.synth.shapes import Seeds, trace_ids


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Traces that start in the same file; ``ends`` tells which calls caller and callee recorded."""

    calls: Calls
    ends: tuple[BoolArray, BoolArray]
    start_ms: IntArray
    ids: pl.Series


def trace_truth(batch: Batch) -> pl.DataFrame:
    """Return one row for each trace: start, duration, calls, records, and depth.

    The depth is the number of dots of the deepest id.
    """
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
    """Return one row for each call of one trace in ``one_in``, with both services' true ids.

    The caller of an entry, a trace's first call, is null.
    """
    calls, start_ms, ends = batch.calls, batch.start_ms, batch.ends
    chosen = np.flatnonzero(calls.trace % one_in == 0)
    trace, caller = calls.trace[chosen], calls.caller[chosen]
    names = pl.concat([directory.services, pl.Series([None], dtype=pl.String)])
    return pl.DataFrame(
        {
            "trace_id": batch.ids.gather(trace),
            "path": calls.rpc_id.gather(chosen),
            "caller_id": names.gather(np.where(calls.parent[chosen] < 0, len(names) - 1, caller)),
            "callee_id": directory.services.gather(calls.callee[chosen]),
            "kind": pl.Series(RPC_TYPES).gather(calls.kind[chosen]),
            "start_ms": start_ms[trace] + calls.offset_ms[chosen].astype(np.int64),
            "duration_ms": calls.duration_ms[chosen].astype(np.int64),
            "by_caller": ends[0][chosen],
            "by_callee": ends[1][chosen],
        }
    )


UNKNOWN = "(?)"
#: Shares of calls, by type in the order of RPC_TYPES, that both ends record, and that the called
#: end alone records (with a negative response time); the calling end records all others. They fit
#: the real shares of negative response times: rpc 41 %, http 51 %, mq 27 %, others none.
BOTH_ENDS = np.array([0.25, 0.05, 0.0, 0.0, 0.0, 0.0])
CALLED_END = np.array([0.26, 0.48, 0.0, 0.0, 0.27, 0.0])
ENTRY_CALLED_END = 0.7
#: The share of entries with calls below them that left no record.
ENTRY_LOST = 0.4
#: Shares of records of rpc and http calls without the name of the other end, and of other records
#: without the caller's name.
OTHER_END_UNKNOWN = 0.27
CALLER_UNKNOWN = 0.02
BOTH_UNKNOWN_SELF = 0.13
_CALLING = 2
#: The last trace starts this long before the end, so that all calls end within the time covered.
LAST_START_MS = 120_000
RUNS_PER_FILE = 40


@dataclass(frozen=True, kw_only=True)
class CallPart:
    """Some rows of MSCallGraph file ``number``, and the truth about traces that start in it.

    Parameters
    ----------
    file_rows : int
        A cautious estimate of the rows of the whole file; exact for a file of one part.
    """

    number: int
    file_rows: int
    rows: pl.DataFrame
    traces: pl.DataFrame
    calls: pl.DataFrame


@dataclass(frozen=True, kw_only=True)
class CallWorld:
    """The preset, random streams and services from which call files are drawn."""

    preset: Preset
    seeds: Seeds
    directory: Directory


def call_parts(world: CallWorld, starts: Sequence[IntArray], first: int = 0) -> Iterator[CallPart]:
    """Yield the MSCallGraph files from number ``first`` on, each in one or more parts, in order.

    Rows after the end of a file go to the next file. No trace reaches further than the next file,
    so a run of files needs only the traces of the file before it.

    Parameters
    ----------
    starts : sequence of int64
        The start times in ms of the traces of each file, sorted; from the file before ``first``
        on, if there is one.
    """
    before = first > 0
    rest: list[pl.DataFrame] = []
    for number, file_starts in enumerate(starts, start=first - before):
        later: list[pl.DataFrame] = []
        for part in _parts(world, file_starts, number, rest):
            later.append(part.later)
            if number >= first:
                yield part.inside
        rest = later


@dataclass(frozen=True)
class _Split:
    inside: CallPart
    later: pl.DataFrame


def _parts(
    world: CallWorld, starts: IntArray, number: int, rest: list[pl.DataFrame]
) -> Iterator[_Split]:
    """The parts of one file, each from a batch of traces over the whole time of the file."""
    preset, seeds, directory = world.preset, world.seeds, world.directory
    rng, id_rng = seeds.stream("calls", number), seeds.stream("trace ids", number)
    batches = max(1, -(-len(starts) // preset.batch_traces))
    end_ms = (number + 1) * preset.call_file_ms
    last = number + 1 == preset.call_files
    for at in range(batches):
        batch = _batch(world, rng, id_rng, starts[at::batches])
        rows = pl.concat([*(rest if at == 0 else []), _printed(rng, directory, batch)])
        later = rows["timestamp"] >= end_ms if not last else rows["timestamp"] < 0
        inside = _in_file_order(rng, rows.filter(~later))
        part = CallPart(
            number=number,
            file_rows=_fewest(inside.height, batches),
            rows=inside,
            traces=trace_truth(batch),
            calls=call_truth(directory, batch, preset.truth_traces),
        )
        yield _Split(part, _apart(rows.filter(later)))


def _apart(rows: pl.DataFrame) -> pl.DataFrame:
    """A copy of few rows of a large frame, so that the large frame's text can be freed."""
    copied = pl.from_arrow(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))
    return copied if isinstance(copied, pl.DataFrame) else rows


def _fewest(rows: int, batches: int) -> int:
    """A cautious estimate of the rows of a file of several batches, by the rows of one batch."""
    return rows if batches == 1 else int(0.8 * rows * batches)


def _batch(
    world: CallWorld, rng: np.random.Generator, id_rng: np.random.Generator, starts: IntArray
) -> Batch:
    calls_on = world.preset.entry_calls_on, world.preset.calls_on
    calls = grow(rng, world.directory, len(starts), calls_on)
    return Batch(
        calls=calls, ends=_ends(rng, calls), start_ms=starts, ids=trace_ids(id_rng, starts)
    )


def trace_starts(preset: Preset, seeds: Seeds) -> list[IntArray]:
    """Draw the start times of the traces of each file, in ms and sorted.

    They follow the daily curve of load.
    """
    rng = seeds.stream("trace starts")
    grid_ms = np.linspace(0, preset.horizon_ms - LAST_START_MS, 2000)
    load = 1 + 0.3 * shapes.daily(shapes.START_HOUR + grid_ms / MS_PER_HOUR)
    reached = np.concatenate([[0.0], np.cumsum((load[1:] + load[:-1]) / 2)])
    drawn = np.interp(rng.random(preset.traces) * reached[-1], reached, grid_ms).astype(np.int64)
    drawn.sort()
    ends = np.arange(1, preset.call_files) * preset.call_file_ms
    return np.split(drawn, np.searchsorted(drawn, ends))


def _ends(rng: np.random.Generator, calls: Calls) -> tuple[BoolArray, BoolArray]:
    """Whether the calling and the called end recorded each call; some entries have no record."""
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
    """The records of calls: first those of the calling ends, then those of the called ends."""
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
    rng: np.random.Generator,
    directory: Directory,
    calls: Calls,
    call: IntArray,
    called_end: BoolArray,
) -> tuple[pl.Series, pl.Series]:
    """The printed caller and callee: an end knows itself, and mostly the other end."""
    kind = calls.kind[call]
    draw = rng.random(len(call))
    other = (kind < _CALLING) & (draw < OTHER_END_UNKNOWN)
    neither = (kind == SELF) & (draw < BOTH_UNKNOWN_SELF)
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
    rng: np.random.Generator, directory: Directory, calls: Calls, call: IntArray
) -> pl.Series:
    """The interface of rpc and http calls, equal at both ends; empty for other types."""
    which = (rng.random(len(calls.kind)) ** 2 * INTERFACES).astype(np.int64)
    names = pl.concat([directory.interfaces, pl.Series([""])])
    at = calls.callee * INTERFACES + which
    return names.gather(np.where(calls.kind < _CALLING, at, len(names) - 1)[call])


def _in_file_order(rng: np.random.Generator, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows in the order of a real file: runs of mixed traces, neither by time nor by trace."""
    run = rng.integers(RUNS_PER_FILE, size=rows.height)
    home = rows["traceid"].str.slice(26).str.to_integer(base=16).to_numpy() % RUNS_PER_FILE
    at_home = rng.random(rows.height) < 0.8
    keyed = rows.with_columns(pl.Series("run", np.where(at_home, home, run)))
    return keyed.sort("run", "timestamp", maintain_order=True).drop("run")
