"""What the page on assumptions says: each with its value and meaning, and what was counted."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import polars as pl

from tracekit.answer.decision_words import blind_told
from tracekit.parameters import about
from tracekit.replay.runs.lost_nodes import lost_told
from tracekit.replay.workload.declared import START
from tracekit.replay.workload.facts_told import LOST, SET_ASIDE, facts_told
from tracekit.report.cells import Table, size_text, table
from tracekit.report.contents import quantities
from tracekit.report.contents.commands import assumptions_of
from tracekit.report.data import Data
from tracekit.units import duration
from tracekit.words import NBSP, listed, percent

#: What it means how a replay started.
_STARTS = {
    "empty": "the replay started empty: everything was placed anew",
    "observed": "the replay started as observed: what ran at the beginning stayed on its node",
}


def rests_sentence(data: Data) -> str:
    """What is assumed, in one sentence."""
    load = (data.run or {}).get("workload", {})
    known = quantities.told(load.get("quantities", {}))
    assumed = [name for name, how in known.items() if how == "assumed"]
    if load.get("assumptions", {}).items() <= {"start": START}.items():
        return "This run rests on what was recorded."
    aside = [name for name, how in known.items() if how.startswith(SET_ASIDE)]
    if aside:
        return (
            f"The trace says {listed(aside)}, but an assumption of this run sets that aside;"
            " another value may change the result."
        )
    replaced = _replaced(data)
    said = [f"The trace has {name}; {by} replaced them." for name, by in replaced.items()]
    unknown = [name for name in assumed if name.partition(" of ")[0] not in replaced]
    if unknown:
        said.append(f"The trace does not say {listed(unknown, 'or')}: that is assumed.")
    if not said:
        said = ["How the run was set up is assumed."]
    *before, last = said
    joint = "; another" if last.startswith("How") else ", and another"
    return " ".join([*before, f"{last.rstrip('.')}{joint} value may change the result."])


def _replaced(data: Data) -> dict[str, str]:
    """What the store records and the run assumed all the same, and the option that did it."""
    load = (data.run or {}).get("workload", {})
    known, given = (data.info or {}).get("quantities", {}), load.get("assumptions", {})
    return {
        name: f"--assume {option}={given[option]}"
        for name, option in _REPLACED_BY.items()
        if load.get("quantities", {}).get(name) == "assumed"
        and known.get(name) in _TOLD
        and option in given
    }


def assumptions(data: Data) -> Table:
    """Every assumption of the run: value, meaning, and whether it is tracekit's default."""
    load = (data.run or {}).get("workload", {})
    kind = assumptions_of(load)
    known = {field.name: field for field in dataclasses.fields(kind)}
    meanings, replaced = about(kind), _replaced(data)
    rows = [
        {
            "assumption": name,
            "value": assumed_text(name, value),
            "meaning": meanings[name].doc if name in meanings else _WORKED_OUT.get(name, ""),
            "comes_from": "worked out"
            if name in _WORKED_OUT
            else _origin(known.get(name), value, _known_as(name, load), replaced),
        }
        for name, value in load.get("assumptions", {}).items()
    ]
    schema = dict.fromkeys(("assumption", "value", "meaning", "comes_from"), pl.String)
    return table(pl.DataFrame(rows, schema=schema), "Every assumption of this run")


#: Values that no option sets: what they mean.
_WORKED_OUT = {
    "arrival_span_used_ms": "How long containers that are there from the start take to arrive:"
    " arrival_span_ms, at most half of the trace.",
    "step_used_ms": "Time between two samples of the replay: what came of step_ms.",
}
#: The options that put an assumption in the place of what is recorded, by what they replace.
_REPLACED_BY = {"requests": "requests", "node sizes": "node_sizes"}
#: How a store knows what an option may replace.
_TOLD = ("recorded", "inferred")
#: What is assumed of each quantity, by how the names of the assumptions begin.
_ASSUMED_OF = {
    "node_cpu_cores": "node sizes",
    "node_memory_bytes": "node sizes",
    "node_net_kbit": "node sizes",
    "node_disk_bytes": "node sizes",
    "request_": "requests",
    "limit_factor": "limits",
}


def _known_as(name: str, load: Mapping[str, Any]) -> tuple[str, str]:
    """The quantity that an assumption stands for, and how that is known; empty for none."""
    about_ = next((what for start, what in _ASSUMED_OF.items() if name.startswith(start)), "")
    return about_, str(load.get("quantities", {}).get(about_, ""))


def _origin(
    field: dataclasses.Field[Any] | None,
    value: object,
    known_as: tuple[str, str],
    replaced: Mapping[str, str],
) -> str:
    if field is None:
        return "the workload"
    if field.default != value:
        return f"set for this run (default {assumed_text(field.name, field.default)})"
    quantity, known = known_as
    if known in ("recorded", "chosen", "inferred"):
        return f"not used where {quantity} are known"
    if quantity in replaced:
        return f"default, in place of what the trace has ({replaced[quantity]})"
    return "default; the trace does not say" if known == "assumed" else "default"


def assumed_text(name: str, value: object) -> str:
    """An assumption's value with its unit, which its name ends in."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if name.endswith("_bytes"):
        return size_text(value)
    if name.endswith("_ms"):
        return duration(value)
    if name.endswith(("_fraction", "_share")):
        return percent(value)
    unit = next((u for u in ("cores", "steps", "kbit") if name.endswith(f"_{u}")), "")
    shown = f"{value:,.0f}" if float(value).is_integer() else f"{value:,g}"
    return f"{shown}{NBSP}{unit}".strip()


def counts(data: Data) -> list[str]:
    """What is worth knowing about how the workload was made, and who decided without use."""
    run = data.run or {}
    load = run.get("workload", {})
    start = load.get("assumptions", {}).get("start")
    told = [_STARTS[start]] if start in _STARTS else []
    told += load.get("told", [])
    lost, facts = load.get("lost", ()), load.get("facts", {})
    told += [lost_told(lost)] if lost else []
    told += facts_told({name: many for name, many in facts.items() if name != LOST or not lost})
    blind = {one["policy"]: one.get("decisions_without_use", 0) for one in run.get("policies", [])}
    return told + blind_told(blind)
