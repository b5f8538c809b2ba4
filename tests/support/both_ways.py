"""Call graphs rebuilt by the arrays and by the plain way, in values that can be compared."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import polars as pl
from callgraph_support import records_of
from plain_callgraph import Call, Rebuilt, rebuild_plainly

from tracekit.analysis.callgraph.declared import Mode
from tracekit.analysis.callgraph.graph import rebuild
from tracekit.analysis.callgraph.run import calls_frame, ledger_frame

NAMES = ("upstream_key", "rpc_type", "downstream_key", "interface_key")


def described(rows: list[dict[str, Any]], row: dict[str, Any] | None) -> tuple[Any, ...] | None:
    """A call with those above it, in values that both ways have."""
    if row is None:
        return None
    parent = None if row["parent"] is None else rows[row["parent"]]
    own = (row["rpc_id"], *(row[name] for name in NAMES), row["repeats"], row["time_ms"])
    inserted = not (row["by_caller"] or row["by_callee"])
    seen = (row["response_time_ms"], inserted, row["contradicts"])
    return *own, *seen, described(rows, parent)


def described_plainly(call: Call | None) -> tuple[Any, ...] | None:
    if call is None:
        return None
    names = (call.upstream, call.rpc_type, call.downstream, call.interface)
    own = (call.rpc_id, *names, call.repeats, call.time_ms, call.duration_ms, call.inserted)
    return *own, call.contradicts, described_plainly(call.parent)


class Told(NamedTuple):
    """What a way of rebuilding says of one trace, in values that both ways have."""

    ledger: Counter[tuple[str, str]]
    numbers: list[int]
    calls: Counter[tuple[Any, ...] | None]


def both_ways(rows: pl.DataFrame, mode: Mode) -> tuple[dict[int, Told], dict[int, Told]]:
    """Every trace of the rows, as the arrays and as the plain way tell it."""
    graph = rebuild(rows, mode=mode)
    calls = calls_frame(graph).partition_by("trace_key", as_dict=True)
    ledgers = ledger_frame(graph).partition_by("trace_key", as_dict=True)
    traces = records_of(rows)
    found = {trace: told(calls.get((trace,)), ledgers.get((trace,))) for trace in traces}
    plain = {
        trace: told_plainly(rebuild_plainly(records, mode)) for trace, records in traces.items()
    }
    return found, plain


def told(calls: pl.DataFrame | None, ledger: pl.DataFrame | None) -> Told:
    found = [] if calls is None else calls.to_dicts()
    noted = [] if ledger is None else ledger.to_dicts()
    return Told(
        Counter({(row["defect"], row["action"]): row["count"] for row in noted}),
        [row["call"] for row in found],
        Counter(described(found, row) for row in found),
    )


def told_plainly(plain: Rebuilt) -> Told:
    calls = Counter(described_plainly(call) for call in plain.calls)
    return Told(plain.ledger, list(range(len(plain.calls))), calls)
