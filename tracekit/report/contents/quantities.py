"""What a store records and what a replay rests on: quantities by how they are known."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tracekit.replay.measures import words_of
from tracekit.replay.workload.facts_told import ASSUMED, SET_ASIDE
from tracekit.report.cells import Table, table
from tracekit.report.data import Data
from tracekit.units import covered_ms, duration
from tracekit.words import count, few

#: What the name of a resource may end in.
_UNITS = ("_milli", "_bytes", "_kbit")
_TOLD = ("recorded", "inferred", "chosen", "assumed")
_KINDS = (*_TOLD, "absent")
#: Longer names of what is inferred are not told on the first page, where a link leads to them.
_SHORT = 40


def word(data: Data, kind: str) -> str:
    """How a kind of knowledge is called: a made-up trace states what others record."""
    return _word(kind, made_up=data.made_up)


def _word(kind: str, *, made_up: bool) -> str:
    return "stated by the made-up trace" if made_up and kind == "recorded" else kind


def rests(known: Mapping[str, str], *, made_up: bool) -> list[tuple[str, str]]:
    """How quantities are known, and which, for the list beside an answer."""
    said = told(known)
    kinds = [*_TOLD, *_aside(said)]
    found = [(kind, [name for name, how in said.items() if how == kind]) for kind in kinds]
    return [
        (_word(kind, made_up=made_up).capitalize(), ", ".join(names))
        for kind, names in found
        if names
    ]


def grounds(load: Mapping[str, Any], *, made_up: bool) -> str:
    """How quantities are known: how many are recorded or inferred, and which others; in sentences.

    Empty where nothing is said of any; ``load`` is the workload of a run.
    """
    found = told(known_of(load))
    kinds = {
        kind: [name for name, how in found.items() if how == kind]
        for kind in (*_TOLD, *_aside(found))
    }
    said = [
        f"{_word(kind, made_up=made_up)}: {_named(kind, names)}"
        for kind, names in kinds.items()
        if names
    ]
    return " ".join(f"{one[:1].upper()}{one[1:]}." for one in said)


def _named(kind: str, names: Sequence[str]) -> str:
    """The quantities known in one way: counted where data say them, named where somebody chose.

    What is inferred is named where that is short.
    """
    named = few(names)
    counted = kind == "recorded" or (kind == "inferred" and len(named) > _SHORT)
    return count(len(names), "quantity") if counted else named


def _aside(known: Mapping[str, str]) -> list[str]:
    """What stands in the files and was not replayed: each with the assumption that says so."""
    return list(dict.fromkeys(kind for kind in known.values() if kind.startswith(SET_ASIDE)))


def of_store(data: Data) -> Table | None:
    """What the store records."""
    title = "What the made-up trace states" if data.made_up else "What the store records"
    return _grouped((data.info or {}).get("quantities", {}), title, data)


def of_replay(data: Data) -> Table | None:
    """What the replay rests on."""
    known = known_of((data.run or {}).get("workload", {}))
    return _grouped(known, "What the replay rests on", data)


def known_of(load: Mapping[str, Any]) -> dict[str, str]:
    """How the quantities of a replay are known, and the time that containers at the beginning get.

    Empty where nothing is said of any quantity, as in the run of an earlier version.
    """
    known, given = dict(load.get("quantities") or {}), load.get("assumptions", {})
    span_ms = given.get("arrival_span_used_ms", given.get("arrival_span_ms", 0))
    # unknown arrivals are assumptions, and a container that stays in place does not arrive
    if not known or known.get("arrivals") == ASSUMED or given.get("start") != "empty":
        return known
    whole = load.get("span_ms")
    if "time_min_ms" in load:
        whole = covered_ms(load["time_min_ms"], load["time_max_ms"], load["step_ms"])
    # half of the time at most, as is said of the assumption
    span_ms = span_ms if whole is None else min(span_ms, whole // 2)
    if span_ms:
        known[f"arrival over {duration(span_ms)} of what was there at the beginning"] = ASSUMED
    return known


def told(known: Mapping[str, str]) -> dict[str, str]:
    """The quantities in words; of a resource alone only what differs from the whole."""
    said = {}
    for name, kind in known.items():
        whole, _, resource = name.partition(": ")
        if resource and known.get(whole) == kind:
            continue
        said[f"{whole} of {_resource(resource)}" if resource else name] = kind
    return said


def _resource(name: str) -> str:
    """A column of a resource as a word: ``net_kbit`` is network."""
    stem = name.rpartition("_")[0] if name.endswith(_UNITS) else name
    return words_of(stem)


def _grouped(known: Mapping[str, str], title: str, data: Data) -> Table | None:
    """The quantities of each kind; None where nothing is said of any."""
    if not known:
        return None
    known = told(known)
    rows = [
        {
            "how known": word(data, kind),
            "quantities": ", ".join(n for n, k in known.items() if k == kind),
        }
        for kind in (*_KINDS, *_aside(known))
        if kind in known.values()
    ]
    schema = dict.fromkeys(("how known", "quantities"), pl.String)
    return table(pl.DataFrame(rows, schema=schema), title)
