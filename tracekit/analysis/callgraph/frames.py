"""A rebuilt graph as frames with integer keys: one row per call, one row per trace."""

import numpy as np
import polars as pl

from tracekit.analysis.callgraph.graph import Graph
from tracekit.analysis.callgraph.parts import distinct
from tracekit.base.arrays import BoolArray, IntArray


def calls_frame(graph: Graph) -> pl.DataFrame:
    """The kept calls, sorted by trace and path.

    Columns: trace_key, call (number within the trace), parent (call that made it, NULL at the top
    of a tree), rpc_id, depth, upstream_key, downstream_key, rpc_type, interface_key, time_ms,
    response_time_ms, repeats, fan_out (calls it made), by_caller, by_callee, contradicts (whether
    it stays where its rpc id puts it, although it names another upstream than its parent reaches).
    An inserted call has no rpc_type and no response time.
    """
    calls, tree, records = graph.calls, graph.tree, graph.records
    number = _numbers_within_trace(graph)
    path = graph.places.path[calls.place]
    types = pl.Series([*records.types, None], dtype=pl.String)
    frame = pl.DataFrame(
        {
            "trace_key": records.traces[graph.trace].astype(np.int32),
            "call": number,
            "parent": np.where(tree.parent >= 0, number[np.maximum(tree.parent, 0)], -1),
            "rpc_id": records.paths.text.gather(path),
            "depth": tree.depth,
            "upstream_key": calls.upstream,
            "downstream_key": calls.downstream,
            "rpc_type": types.gather(calls.kind),
            "interface_key": calls.interface,
            "time_ms": calls.time_ms,
            "response_time_ms": calls.duration_ms,
            "repeats": calls.repeats,
            "fan_out": fan_out(graph),
            "by_caller": calls.by_caller,
            "by_callee": calls.by_callee,
            "contradicts": tree.contradicts,
        },
        nan_to_null=True,
    )
    absent = ("parent", "upstream_key", "downstream_key", "interface_key")
    return frame.filter(pl.Series(tree.kept)).with_columns(
        pl.when(pl.col(name) >= 0).then(name).alias(name) for name in absent
    )


def fan_out(graph: Graph) -> IntArray:
    """Kept calls that each call made, repeats counted; int64 of shape (calls,)."""
    made = np.flatnonzero(graph.tree.kept & (graph.tree.parent >= 0))
    counted = np.bincount(
        graph.tree.parent[made], weights=graph.calls.repeats[made], minlength=len(graph.calls)
    )
    return counted.astype(np.int64)


def _numbers_within_trace(graph: Graph) -> IntArray:
    """Kept calls counted from 0 in each trace; what is left out has no number of its own."""
    running = np.cumsum(graph.tree.kept) - 1
    first = np.full(len(graph.records.traces), np.iinfo(np.int64).max)
    np.minimum.at(first, graph.trace[graph.tree.kept], running[graph.tree.kept])
    numbers: IntArray = running - first[graph.trace]
    return numbers


def traces_frame(graph: Graph, rows: pl.DataFrame) -> pl.DataFrame:
    """One row per trace, sorted by trace_key.

    Columns: trace_key, start_ms, end_ms (first and last record), records, calls (kept, repeats
    counted, without inserted ones), inserted, left_out (calls), contradicting (calls),
    missing_calls (rpc ids), extra_calls (calls beyond one per rpc id), depth, services, trees,
    connected (one tree, nothing left out, nothing that contradicts), files, first_part, last_part
    (numbers of the store's files it is in).
    """
    seen = rows.group_by("trace_key").agg(
        pl.col("time_ms").min().alias("start_ms"),
        pl.col("time_ms").max().alias("end_ms"),
        pl.len().cast(pl.Int64).alias("records"),
        pl.col("part").n_unique().cast(pl.Int64).alias("files"),
        pl.col("part").min().alias("first_part"),
        pl.col("part").max().alias("last_part"),
    )
    counts = pl.DataFrame(_counts(graph)).with_columns(
        connected=(pl.col("trees") == 1) & (pl.col("left_out") + pl.col("contradicting") == 0)
    )
    files = ("files", "first_part", "last_part")
    joined = seen.join(counts, on="trace_key", how="inner", validate="1:1").sort("trace_key")
    return joined.select(pl.exclude(*counts.columns[1:], *files), *counts.columns[1:], *files)


def _counts(graph: Graph) -> dict[str, IntArray]:
    calls, kept, parent = graph.calls, graph.tree.kept, graph.tree.parent
    real = calls.by_caller | calls.by_callee
    tops = distinct(calls.place[kept & (parent < 0)])
    traces = len(graph.records.traces)
    depth = np.zeros(traces, dtype=np.int64)
    np.maximum.at(depth, graph.trace[kept], graph.tree.depth[kept])
    return {
        "trace_key": graph.records.traces.astype(np.int32),
        "calls": _sum(graph, kept & real),
        "inserted": _sum(graph, kept & ~real),
        "left_out": _sum(graph, ~kept & real),
        "contradicting": _sum(graph, kept & real & graph.tree.contradicts),
        "missing_calls": graph.ledger.of("missing_call"),
        "extra_calls": graph.ledger.of("reused_rpc_id"),
        "depth": depth,
        "services": _services(graph),
        "trees": np.bincount(graph.places.trace[tops], minlength=traces),
    }


def _sum(graph: Graph, chosen: BoolArray) -> IntArray:
    """Chosen calls of each trace, repeats counted."""
    counted = np.bincount(
        graph.trace[chosen],
        weights=graph.calls.repeats[chosen],
        minlength=len(graph.records.traces),
    )
    return counted.astype(np.int64)


def _services(graph: Graph) -> IntArray:
    """Distinct services that each trace's kept calls name."""
    trace, kept = graph.trace[graph.tree.kept], graph.tree.kept
    names = np.concatenate([graph.calls.upstream[kept], graph.calls.downstream[kept]])
    size = int(names.max(initial=0)) + 1
    keys = np.concatenate([trace, trace]) * size + names
    named = distinct(keys[names >= 0])
    return np.bincount(named // size, minlength=len(graph.records.traces))


def ledger_frame(graph: Graph) -> pl.DataFrame:
    """The ledger of each trace: trace_key, defect, action, count; sorted.

    Defects and actions are enumerations: texts would hold on to the memory they were cut from.
    """
    ledger = graph.ledger.frame()
    keys = pl.Series("trace_key", graph.records.traces.astype(np.int32))
    return ledger.select(keys.gather(ledger["trace"]), "defect", "action", "count")
