"""Damage to the rpc ids of records and to what both ends of a call say, each kind stated.

Nothing here is shared with ``tracekit.callgraph``: an rpc id is a list of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

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

#: Another rpc id for a record, given those of its trace; the same where there is none.
Shift = Callable[[np.random.Generator, list[int], Collection[str]], list[int]]
#: Numbers that the damage draws from: calls beside each other are numbered up to some ten.
NUMBERS = range(1, 10)


def text(numbers: list[int]) -> str:
    return ".".join(map(str, numbers))


def shifted(share: float, *shifts: Shift) -> Damage:
    """Some of the records have another rpc id, by one of the shifts."""

    def damage(rng: np.random.Generator, records: list[Record]) -> list[Record]:
        taken = {r.rpc_id for r in records}
        found = []
        for r in records:
            if rng.random() < share:
                shift = shifts[int(rng.integers(len(shifts)))]
                numbers = shift(rng, [int(number) for number in r.rpc_id.split(".")], taken)
                r = r._replace(rpc_id=text(numbers))  # noqa: PLW2901
            found.append(r)
        return found

    return damage


def to_sibling(rng: np.random.Generator, numbers: list[int], taken: Collection[str]) -> list[int]:
    """The rpc id of another call beside it."""
    others = [[*numbers[:-1], last] for last in NUMBERS if last != numbers[-1]]
    return _one_of(rng, numbers, [other for other in others if text(other) in taken])


def to_free(rng: np.random.Generator, numbers: list[int], taken: Collection[str]) -> list[int]:
    """One number is another, so that the rpc id is nobody's."""
    return _one_of(rng, numbers, [o for o in _one_other(numbers) if text(o) not in taken])


def to_taken(rng: np.random.Generator, numbers: list[int], taken: Collection[str]) -> list[int]:
    """One number is another, so that the rpc id is that of another call."""
    return _one_of(rng, numbers, [o for o in _one_other(numbers) if text(o) in taken])


def level_dropped(_: np.random.Generator, numbers: list[int], __: Collection[str]) -> list[int]:
    return numbers[:-1] or numbers


def level_added(rng: np.random.Generator, numbers: list[int], _: Collection[str]) -> list[int]:
    return [*numbers, int(rng.choice(NUMBERS))]


def _one_other(numbers: list[int]) -> list[list[int]]:
    return [
        [*numbers[:at], number, *numbers[at + 1 :]]
        for at in range(1, len(numbers))
        for number in NUMBERS
        if number != numbers[at]
    ]


def _one_of(rng: np.random.Generator, numbers: list[int], others: list[list[int]]) -> list[int]:
    return others[int(rng.integers(len(others)))] if others else numbers


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


ANY_SHIFT = (to_sibling, level_dropped, level_added, to_free, to_taken)
#: Further rows of the table: damage that is not to single names.
FURTHER: dict[str, Damage] = {
    "rpc id of a sibling, 5 %": shifted(0.05, to_sibling),
    "rpc id a level short, 5 %": shifted(0.05, level_dropped),
    "rpc id a level long, 5 %": shifted(0.05, level_added),
    "rpc id that is free, 5 %": shifted(0.05, to_free),
    "rpc id that is taken, 5 %": shifted(0.05, to_taken),
    "any of these, 5 %": shifted(0.05, *ANY_SHIFT),
    "the same, clocks 10 ms off": all_of(clocks_apart(10), shifted(0.05, *ANY_SHIFT)),
    "the same, dropped, nameless": all_of(dropped(0.05), nameless(0.05), shifted(0.05, *ANY_SHIFT)),
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
        shifted(0.02, *ANY_SHIFT),
    ),
}
