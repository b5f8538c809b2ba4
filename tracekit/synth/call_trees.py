"""The calls of traces as trees, made level by level for all traces at once."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.synth.shapes import Seeds, hashes

RPC_TYPES = ("rpc", "http", "mc", "db", "mq", "userDefined")
#: The number of targets of a service for each type; a call of type userDefined calls itself.
TARGETS = {"rpc": 6, "http": 2, "mc": 2, "db": 2, "mq": 1}
#: Services without use for each service with use: the usage tables cover two of more than ten
#: clusters.
OUTSIDE_SERVICES = 2
MIDDLEWARE_SHARE = {"mc": 0.3, "db": 0.4, "mq": 0.2}
INTERFACES = 4
POPULARITY = 0.8


@dataclass(frozen=True, kw_only=True)
class Directory:
    """The callable services.

    Parameters
    ----------
    services : Series of String
        Ids of the services of the usage tables, then of other callers, then of caches, databases
        and queues.
    callers : int
        The number of services that call others; they are the first of ``services``.
    targets : dict of str to int64, shape (callers, targets)
        The services that each caller calls, by type of call.
    interfaces : Series of String
        ``INTERFACES`` ids for each service, one service after another.
    entry : float64, shape (callers,)
        The share of traces whose entry is each caller.
    """

    services: pl.Series
    callers: int
    targets: dict[str, IntArray]
    interfaces: pl.Series
    entry: FloatArray


def make_directory(seeds: Seeds, inside: pl.Series) -> Directory:
    """Draw the services that calls reach, and the services that each caller calls.

    ``inside`` are the ids of the services of the usage tables.
    """
    rng = seeds.stream("call directory")
    callers = len(inside) * (1 + OUTSIDE_SERVICES)
    kinds = {kind: max(3, round(share * callers)) for kind, share in MIDDLEWARE_SHARE.items()}
    outside = callers - len(inside) + sum(kinds.values())
    services = pl.concat([inside, hashes(seeds.stream("call service ids"), outside)])
    popularity = _zipf(rng.permutation(callers))
    targets = {
        kind: _draw(rng, callers, TARGETS[kind], np.arange(callers), popularity)
        for kind in ("rpc", "http")
    }
    first = callers
    for kind, count in kinds.items():
        members = np.arange(first, first + count)
        targets[kind] = _draw(rng, callers, TARGETS[kind], members, _zipf(np.arange(count)))
        first += count
    interfaces = hashes(seeds.stream("interface ids"), INTERFACES * len(services))
    return Directory(
        services=services, callers=callers, targets=targets, interfaces=interfaces, entry=popularity
    )


def _zipf(rank: IntArray) -> FloatArray:
    weight = (1.0 + rank) ** -POPULARITY
    return np.asarray(weight / weight.sum())


def _draw(
    rng: np.random.Generator,
    callers: int,
    count: int,
    among: IntArray,
    weight: FloatArray,
) -> IntArray:
    return np.asarray(rng.choice(among, size=(callers, count), p=weight))


#: Shares of the types of calls below the entry; rpc and http calls may make calls. Some rpc calls
#: have two records, which brings the shares of records to the real ones.
TYPE_SHARES = {"rpc": 0.375, "http": 0.030, "mc": 0.450, "db": 0.065, "mq": 0.053}
#: Probabilities of 1 to 5 children, as the trace's authors measured them at depth 1; the rest is a
#: tail that brings the mean to 3.6.
CHILDREN = (0.222, 0.479, 0.177, 0.025, 0.010)
TAIL_MEAN = 14.0
MOST_CHILDREN = 60
MOST_DOTS = 14
SELF_CALL_SHARE = 0.16
#: Shares of the rpc ids of entries (alibaba/clusterdata issue 157).
ENTRIES = {"0": 0.04, "0.1": 0.70, "0.1.1": 0.26}
ENTRY_HTTP_SHARE = 0.7
_CALLING = 2
SELF = RPC_TYPES.index("userDefined")
#: Log-normal median and sigma of a call's own time by type, in ms, in the order of RPC_TYPES.
OWN_TIME_MS = ((1.6, 1.7), (8.0, 1.7), (0.3, 0.9), (0.9, 1.0), (0.9, 0.5), (40.0, 1.1))
LONGEST_MS = 5000.0


@dataclass(frozen=True, kw_only=True)
class Calls:
    """Calls of many traces, parents before children; arrays of shape (calls,).

    Parameters
    ----------
    trace : int64
        Number of the trace.
    parent : int64
        Number of the call that made this one, -1 for the entry of a trace.
    rpc_id : Series of String
        Path of the call in its trace, ``0.1.3``.
    caller, callee : int64
        Services, as positions in the directory; ``caller`` is -1 for an entry.
    kind : int64
        Type of call, as a position in ``RPC_TYPES``.
    duration_ms, offset_ms : float64, whole numbers
        Duration, and start after the start of the trace.
    """

    trace: IntArray
    parent: IntArray
    rpc_id: pl.Series
    caller: IntArray
    callee: IntArray
    kind: IntArray
    duration_ms: FloatArray
    offset_ms: FloatArray


@dataclass
class _Level:
    trace: IntArray
    parent: IntArray
    rpc_id: pl.Series
    caller: IntArray
    callee: IntArray
    kind: IntArray


def grow(
    rng: np.random.Generator, directory: Directory, traces: int, calls_on: tuple[float, float]
) -> Calls:
    """Draw the call trees of ``traces`` traces.

    ``calls_on`` are the probabilities that the entry of a trace, and a call below it, makes calls.
    """
    levels = [_entries(rng, directory, traces)]
    first = 0
    while len(levels[-1].trace):
        size = len(levels[-1].trace)
        likely = calls_on[int(first > 0)]
        levels.append(_children(rng, directory, levels[-1], first, likely))
        first += size
    kind = np.concatenate([level.kind for level in levels])
    parent = np.concatenate([level.parent for level in levels])
    sizes = [len(level.trace) for level in levels]
    duration = _durations(rng, kind, parent, sizes)
    return Calls(
        trace=np.concatenate([level.trace for level in levels]),
        parent=parent,
        rpc_id=pl.concat([level.rpc_id for level in levels]),
        caller=np.concatenate([level.caller for level in levels]),
        callee=np.concatenate([level.callee for level in levels]),
        kind=kind,
        duration_ms=duration,
        offset_ms=_offsets(rng, duration, parent, sizes),
    )


def _entries(rng: np.random.Generator, directory: Directory, traces: int) -> _Level:
    names = pl.Series(list(ENTRIES), dtype=pl.String)
    drawn = rng.choice(len(ENTRIES), size=traces, p=list(ENTRIES.values()))
    http = rng.random(traces) < ENTRY_HTTP_SHARE
    return _Level(
        trace=np.arange(traces),
        parent=np.full(traces, -1),
        rpc_id=names.gather(drawn),
        caller=np.full(traces, -1),
        callee=rng.choice(directory.callers, size=traces, p=directory.entry),
        kind=np.where(http, RPC_TYPES.index("http"), RPC_TYPES.index("rpc")),
    )


def _children(
    rng: np.random.Generator, directory: Directory, above: _Level, first: int, likely: float
) -> _Level:
    """The calls made by the calls of one level, of which the first has number ``first``."""
    dots = above.rpc_id.str.count_matches(".", literal=True).to_numpy()
    calls_on = rng.random(len(above.kind)) < likely
    calls_on &= (above.kind < _CALLING) & (dots < MOST_DOTS)
    count = np.where(calls_on, _fan_out(rng, len(above.kind)), 0)
    up = np.repeat(np.arange(len(count)), count)
    ordinal = np.arange(len(up)) - np.repeat(np.cumsum(count) - count, count) + 1
    kind = rng.choice(len(RPC_TYPES), size=len(up), p=_type_shares())
    caller = above.callee[up]
    path = above.rpc_id.gather(up) + "." + pl.Series(ordinal).cast(pl.String)
    return _Level(
        trace=above.trace[up],
        parent=first + up,
        rpc_id=path,
        caller=caller,
        callee=_callees(rng, directory, caller, kind),
        kind=kind,
    )


def _type_shares() -> list[float]:
    shares = [TYPE_SHARES.get(kind, 0.0) for kind in RPC_TYPES]
    shares[SELF] = 1 - sum(shares)
    return shares


def _fan_out(rng: np.random.Generator, count: int) -> IntArray:
    usual = np.searchsorted(np.cumsum(CHILDREN), rng.random(count), side="right") + 1
    tail = len(CHILDREN) + rng.geometric(1 / TAIL_MEAN, size=count)
    return np.where(usual <= len(CHILDREN), usual, np.minimum(tail, MOST_CHILDREN))


def _callees(
    rng: np.random.Generator, directory: Directory, caller: IntArray, kind: IntArray
) -> IntArray:
    callee = caller.copy()
    choice = rng.random(len(caller)) ** 2
    calls_itself = rng.random(len(caller)) < SELF_CALL_SHARE
    for code, name in enumerate(RPC_TYPES[:SELF]):
        chosen = (kind == code) & ~(calls_itself & (name == "rpc"))
        targets = directory.targets[name]
        at = (choice[chosen] * targets.shape[1]).astype(np.int64)
        callee[chosen] = targets[caller[chosen], at]
    return callee


def _durations(
    rng: np.random.Generator, kind: IntArray, parent: IntArray, sizes: list[int]
) -> FloatArray:
    """The duration of each call: its own work plus the longest of the calls that it makes."""
    median, sigma = np.array(OWN_TIME_MS).T
    own = median[kind] * np.exp(sigma[kind] * rng.standard_normal(len(kind)))
    duration: FloatArray = np.minimum(np.rint(own), LONGEST_MS)
    longest = np.zeros(len(kind))
    end = len(kind)
    for size in reversed(sizes):
        level = np.arange(end - size, end)
        duration[level] += longest[level]
        below = level[parent[level] >= 0]
        np.maximum.at(longest, parent[below], duration[below])
        end -= size
    return duration


def _offsets(
    rng: np.random.Generator, duration: FloatArray, parent: IntArray, sizes: list[int]
) -> FloatArray:
    """The start of each call after the start of its trace; each call lies within its parent."""
    place = rng.random(len(duration))
    offset = np.zeros(len(duration))
    start = sizes[0]
    for size in sizes[1:]:
        level = np.arange(start, start + size)
        slack = duration[parent[level]] - duration[level] + 1
        offset[level] = offset[parent[level]] + np.floor(place[level] * slack)
        start += size
    return offset
