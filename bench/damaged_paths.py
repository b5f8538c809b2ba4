"""Damage to both records of a call, to whole calls, and to times: each kind with its share."""

from __future__ import annotations

import numpy as np
from callgraph_support import Record
from damaged_calls import (
    SERVICES,
    Damage,
    all_of,
    dropped,
    nameless,
    swapped,
    wrong_callee,
    wrong_caller,
)


def agreed_wrong_callee(share: float) -> Damage:
    """All records of some of the calls give the same callee, which had nothing to do with it."""
    return lambda rng, records: [
        r._replace(downstream=wrong.get(r.rpc_id, r.downstream))
        for wrong in [_wrong_names(rng, share, {r.rpc_id for r in records})]
        for r in records
    ]


def agreed_wrong_caller(share: float) -> Damage:
    """All records of some of the calls give the same caller, which had nothing to do with it."""
    return lambda rng, records: [
        r._replace(upstream=wrong.get(r.rpc_id, r.upstream))
        for wrong in [_wrong_names(rng, share, {r.rpc_id for r in records} - {"0"})]
        for r in records
    ]


def _wrong_names(rng: np.random.Generator, share: float, paths: set[str]) -> dict[str, int]:
    chosen = [path for path in sorted(paths) if rng.random() < share]
    return {path: int(rng.integers(SERVICES)) for path in chosen}


def nameless_below(share: float) -> Damage:
    """No record below some of the calls gives a name."""

    def damage(rng: np.random.Generator, records: list[Record]) -> list[Record]:
        paths = sorted({r.rpc_id for r in records})
        tops = tuple(f"{path}." for path in paths if rng.random() < share)
        return [
            r._replace(upstream=None, downstream=None) if r.rpc_id.startswith(tops) else r
            for r in records
        ]

    return damage


def rootless(share: float) -> Damage:
    """The entry of some traces left no record."""
    return lambda rng, records: (
        [r for r in records if r.rpc_id != "0"] if rng.random() < share else records
    )


def calls_lost(share: float) -> Damage:
    """Some of the calls left no record at either end."""

    def damage(rng: np.random.Generator, records: list[Record]) -> list[Record]:
        gone = {path for path in sorted({r.rpc_id for r in records}) if rng.random() < share}
        return [r for r in records if r.rpc_id not in gone]

    return damage


def retried(share: float) -> Damage:
    """Some of the calls were made again under the same rpc id, a little later."""

    def damage(rng: np.random.Generator, records: list[Record]) -> list[Record]:
        again = {path for path in sorted({r.rpc_id for r in records}) if rng.random() < share}
        later = [r._replace(time_ms=r.time_ms + 7) for r in records if r.rpc_id in again]
        return [*records, *later]

    return damage


def clocks_apart(spread_ms: int) -> Damage:
    """Each service's clock is wrong by its own time."""

    def damage(rng: np.random.Generator, records: list[Record]) -> list[Record]:
        wrong = rng.integers(-spread_ms, spread_ms + 1, SERVICES)
        found = []
        for r in records:
            recorder = r.upstream if (r.response_time_ms or 0) > 0 else r.downstream
            ahead = 0 if recorder is None or recorder >= SERVICES else int(wrong[recorder])
            found.append(r._replace(time_ms=r.time_ms + ahead))
        return found

    return damage


def other_types(share: float) -> Damage:
    """Some of the records over the network give another type of call."""
    other = {"rpc": "http", "http": "rpc"}
    return lambda rng, records: [
        r._replace(rpc_type=other.get(r.rpc_type or "", r.rpc_type)) if rng.random() < share else r
        for r in records
    ]


def signs_turned(share: float) -> Damage:
    """Some response times have the other sign, as if the other end had left the record."""
    return lambda rng, records: [
        r._replace(response_time_ms=-(r.response_time_ms or 0)) if rng.random() < share else r
        for r in records
    ]


def too_quick(share: float) -> Damage:
    """Some response times are 0, so that the end is unknown."""
    return lambda rng, records: [
        r._replace(response_time_ms=0.0) if rng.random() < share else r for r in records
    ]


def proxied(share: float) -> Damage:
    """The calling end of some calls names the proxy it called through."""
    return lambda rng, records: [
        r._replace(downstream=SERVICES - 1 - int(rng.integers(5)))
        if r.interface is not None and (r.response_time_ms or 0) > 0 and rng.random() < share
        else r
        for r in records
    ]


#: Further rows of the table: damage that is not to single names.
FURTHER: dict[str, Damage] = {
    "one wrong callee, 3.3 %": agreed_wrong_callee(0.1 / 3),
    "one wrong callee, 10 %": agreed_wrong_callee(0.1),
    "one wrong caller, 3.3 %": agreed_wrong_caller(0.1 / 3),
    "no names below 5 %": nameless_below(0.05),
    "entry lost in 10 %": rootless(0.1),
    "5 % of calls lost": calls_lost(0.05),
    "10 % made again": retried(0.1),
    "clocks 100 ms off": clocks_apart(100),
    "other type in 5 %": other_types(0.05),
    "sign of time turned, 5 %": signs_turned(0.05),
    "too quick in 10 %": too_quick(0.1),
    "proxy named in 30 %": proxied(0.3),
    "all at 2 %": all_of(
        dropped(0.02),
        nameless(0.02),
        swapped(0.02),
        wrong_callee(0.02),
        wrong_caller(0.02),
        agreed_wrong_callee(0.02),
        agreed_wrong_caller(0.02),
        retried(0.02),
        other_types(0.02),
        signs_turned(0.02),
    ),
}
