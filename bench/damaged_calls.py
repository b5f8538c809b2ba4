"""Traces whose true calls are known, and records of them that are damaged in a stated way.

Nothing here is shared with ``tracekit.callgraph``: a trace is a list of calls, a call a tuple.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from callgraph_support import Record

SERVICES = 80
#: The stores are services of their own.
STORES = range(SERVICES, SERVICES + 12)


class TrueCall(NamedTuple):
    """A call as it was made; the caller of an entry is None, for it is not of the trace."""

    path: str
    caller: int | None
    callee: int


class Trace(NamedTuple):
    calls: list[TrueCall]
    records: list[Record]


def made_up(rng: np.random.Generator, traces: int) -> dict[int, Trace]:
    """Traces of some five calls: an entry that leaves one record, calls of services, stores."""
    return {number: _trace(rng) for number in range(traces)}


def _trace(rng: np.random.Generator) -> Trace:
    entry = TrueCall("0", None, int(rng.integers(SERVICES)))
    made, records = [entry], [Record(0, "0", None, "http", entry.callee, 0, -90.0)]
    _grow(rng, entry, 1, made, records)
    return Trace(made, records)


def _grow(
    rng: np.random.Generator,
    above: TrueCall,
    depth: int,
    made: list[TrueCall],
    records: list[Record],
) -> None:
    for number in range(1, 1 + int(rng.poisson(2.4 if depth == 1 else 1.6 / depth))):
        path = f"{above.path}.{number}"
        # calls are numbered in the order in which they are made
        time_ms = 1000 * number + int(rng.integers(1000))
        if rng.random() < 0.5:
            call = TrueCall(path, above.callee, int(rng.choice(STORES)))
            kind = str(rng.choice(["mc", "db"]))
            records.append(Record(time_ms, path, call.caller, kind, call.callee, None, 1.0))
            made.append(call)
            continue
        call = TrueCall(path, above.callee, int(rng.integers(SERVICES)))
        worked = float(rng.integers(2, 60))
        interface = int(rng.integers(1000))
        kind = str(rng.choice(["rpc", "http"]))
        names = (call.caller, kind, call.callee, interface)
        waited = worked + float(rng.integers(0, 3))
        records += [Record(time_ms, path, *names, time) for time in (waited, -worked)]
        made.append(call)
        _grow(rng, call, depth + 1, made, records)


Damage = Callable[[np.random.Generator, list[Record]], list[Record]]


def dropped(share: float) -> Damage:
    """Some of the records are lost."""
    return lambda rng, records: [r for r in records if rng.random() >= share]


def nameless(share: float) -> Damage:
    """Each name of a record is unknown at times."""

    def damage(rng: np.random.Generator, records: list[Record]) -> list[Record]:
        return [
            r._replace(
                upstream=None if rng.random() < share else r.upstream,
                downstream=None if rng.random() < share else r.downstream,
            )
            for r in records
        ]

    return damage


def swapped(share: float) -> Damage:
    """Some of the records name the two ends the wrong way round."""
    return lambda rng, records: [
        r._replace(upstream=r.downstream, downstream=r.upstream) if rng.random() < share else r
        for r in records
    ]


def wrong_callee(share: float) -> Damage:
    """Some of the records give as callee a service that has nothing to do with the call."""
    return lambda rng, records: [
        r._replace(downstream=int(rng.integers(SERVICES))) if rng.random() < share else r
        for r in records
    ]


def wrong_caller(share: float) -> Damage:
    """Some of the records give as caller a service that has nothing to do with the call."""
    return lambda rng, records: [
        r._replace(upstream=int(rng.integers(SERVICES))) if rng.random() < share else r
        for r in records
    ]


def doubled(share: float) -> Damage:
    """Some of the records are there twice."""
    return lambda rng, records: [r for r in records for _ in range(1 + (rng.random() < share))]


def all_of(*damages: Damage) -> Damage:
    def damage(rng: np.random.Generator, records: list[Record]) -> list[Record]:
        for one in damages:
            records = one(rng, records)
        return records

    return damage


#: The rows of the table: what is done to the records.
DAMAGES: dict[str, Damage] = {
    "nothing": all_of(),
    "10 % of records dropped": dropped(0.1),
    "10 % of names unknown": nameless(0.1),
    "ends swapped in 3.3 %": swapped(0.1 / 3),
    "wrong callee in 3.3 %": wrong_callee(0.1 / 3),
    "wrong caller in 3.3 %": wrong_caller(0.1 / 3),
    "10 % doubled": doubled(0.1),
    "all at 5 %": all_of(
        dropped(0.05), nameless(0.05), swapped(0.05 / 3), wrong_callee(0.05 / 3), doubled(0.05)
    ),
}


def by_majority(records: list[Record]) -> set[TrueCall]:
    """Calls of a trace by a rule of a few lines: the names most records of an rpc id give.

    What is missing is taken from the calls above and below; an rpc id that must have been there
    is put in.
    """
    whole = [r.rpc_id.split(".") for r in records]
    paths = {".".join(path[:length]) for path in whole for length in range(1, len(path) + 1)}
    in_order = sorted(paths)
    up: dict[str, list[int | None]] = defaultdict(list)
    down: dict[str, list[int | None]] = defaultdict(list)
    for r in records:
        up[r.rpc_id].append(r.upstream)
        down[r.rpc_id].append(r.downstream)
    callee = {path: most(down[path]) for path in in_order}
    caller = {path: most(up[path]) for path in in_order}
    below: dict[str, list[int | None]] = defaultdict(list)
    for path in in_order:
        below[path.rpartition(".")[0]].append(caller[path])
    for path in in_order:
        if callee[path] is None:
            callee[path] = most(below[path])
    for path in in_order:
        if caller[path] is None:
            caller[path] = callee.get(path.rpartition(".")[0])
    return {
        TrueCall(path, caller[path], found)
        for path in in_order
        if (found := callee[path]) is not None and (caller[path] is not None or path == "0")
    }


def most(values: Iterable[int | None]) -> int | None:
    counted = Counter(value for value in values if value is not None)
    return counted.most_common(1)[0][0] if counted else None
