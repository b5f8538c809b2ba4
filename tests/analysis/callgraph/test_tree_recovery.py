"""A tree of calls, written down as the trace does and partly spoiled, comes back whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from callgraph_support import Record, rows_of
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.callgraph.graph import rebuild
from tracekit.analysis.callgraph.run import calls_frame, ledger_frame

#: (rpc_id, upstream, downstream, rpc_type, rpc_id of the parent)
Row = tuple[str, int | None, int | None, str | None, str | None]
REMOTE, LOCAL = ("rpc", "http", "mq"), ("mc", "db", "userDefined")


@dataclass(frozen=True)
class Planted:
    """A call of the tree that was planted; its caller is None at the entry."""

    path: str
    caller: int | None
    callee: int
    kind: str
    parent: str | None


def grown(rng: np.random.Generator, size: int, entry: str) -> list[Planted]:
    """A random tree; a call that makes others is a remote one, a leaf is of any type."""
    parents = [-1, *(int(rng.integers(0, at)) for at in range(1, size))]
    makers = set(parents)
    calls: list[Planted] = []
    children: dict[int, int] = {}
    for at, parent in enumerate(parents):
        kind = str(rng.choice(REMOTE if at in makers or at == 0 else REMOTE + LOCAL))
        callee = int(rng.integers(0, 6))
        if parent < 0:
            calls.append(Planted(entry, None, callee, kind, None))
            continue
        above = calls[parent]
        children[parent] = children.get(parent, 0) + int(rng.integers(1, 4))
        path = f"{above.path}.{children[parent]}"
        callee = above.callee if kind == "userDefined" else callee
        calls.append(Planted(path, above.callee, callee, kind, above.path))
    return calls


def recorded(rng: np.random.Generator, calls: list[Planted], spoil: float) -> list[Record]:
    """Both ends of remote calls, in any order, each name missing from one of the two at times."""
    records = []
    for call in calls:
        worked, time_ms = int(rng.integers(1, 50)), int(rng.integers(0, 1000))
        waited = worked + int(rng.integers(0, 3))
        interface = int(rng.integers(0, 3)) if call.kind in {"rpc", "http"} else None
        names = (call.caller, call.kind, call.callee, interface)
        ends = [Record(time_ms, call.path, *names, waited)]
        if call.kind in REMOTE:
            ends.append(Record(time_ms + 1, call.path, *names, -worked))
            for column in ("upstream", "downstream"):
                if rng.random() < spoil:
                    at = int(rng.integers(0, 2))
                    ends[at] = without(ends[at], column)
        records += ends
    return [records[at] for at in rng.permutation(len(records))]


def without(record: Record, column: str) -> Record:
    if column == "upstream":
        return record._replace(upstream=None)
    return record._replace(downstream=None)


def rebuilt(records: list[Record]) -> tuple[set[Row], pl.DataFrame]:
    graph = rebuild(rows_of({7: records}))
    calls = calls_frame(graph)
    paths = calls["rpc_id"].to_list()
    columns = ("rpc_id", "upstream_key", "downstream_key", "rpc_type", "parent")
    names = {
        (path, up, down, kind, None if parent is None else paths[parent])
        for path, up, down, kind, parent in calls.select(columns).rows()
    }
    assert len(names) == calls.height
    return names, ledger_frame(graph)


seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 40)
entries = st.sampled_from(["0", "0.1", "0.1.1"])


@given(seeds, sizes, entries, st.sampled_from([0.0, 0.5, 1.0]))
def test_names_that_the_twin_has(seed: int, size: int, entry: str, spoil: float) -> None:
    rng = np.random.Generator(np.random.PCG64(seed))
    calls = grown(rng, size, entry)
    result, ledger = rebuilt(recorded(rng, calls, spoil))
    assert result == {(c.path, c.caller, c.callee, c.kind, c.parent) for c in calls}
    # what is left in the ledger was mended, but for the entry's caller, whom nobody recorded
    assert set(ledger["action"]) <= {"named by twin", "outside the trace"}


@given(seeds, st.integers(3, 40), entries)
def test_a_call_that_left_no_record(seed: int, size: int, entry: str) -> None:
    rng = np.random.Generator(np.random.PCG64(seed))
    calls = grown(rng, size, entry)
    # where a service called itself, what it called reads as recorded one level too deep
    itself = {c.path for c in calls if c.caller == c.callee}
    makers = sorted({c.parent for c in calls if c.parent and c.parent not in {entry, *itself}})
    lost = str(rng.choice(makers)) if makers else None
    result, ledger = rebuilt(recorded(rng, [c for c in calls if c.path != lost], 0.0))
    assert result == {
        (c.path, c.caller, c.callee, None if c.path == lost else c.kind, c.parent) for c in calls
    }
    noted = ledger.filter(pl.col("defect") == "missing_call").select("action", "count").rows()
    assert noted == ([("inserted", 1)] if lost else [])


@given(seeds, sizes)
def test_the_order_of_rows_does_not_matter(seed: int, size: int) -> None:
    rng = np.random.Generator(np.random.PCG64(seed))
    traces = {trace: recorded(rng, grown(rng, size, "0.1"), 0.5) for trace in (3, 5)}
    rows = rows_of(traces)
    shuffled = rows[rng.permutation(rows.height)]
    assert calls_frame(rebuild(rows)).equals(calls_frame(rebuild(shuffled)))
