"""Call graphs rebuilt the plain way, and both ways in values that can be compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import polars as pl
from callgraph_support import Record, records_of
from plain_mending import (
    REMOTE,
    STORES,
    TWICE,
    Mending,
    above,
    first_known,
    most_known,
    none_first,
    one_known,
    rank,
    several,
    side,
)

from tracekit.analysis.callgraph import Mode
from tracekit.analysis.callgraph.graph import rebuild
from tracekit.analysis.callgraph.run import calls_frame, ledger_frame


@dataclass(frozen=True)
class Call:
    """A call of the rebuilt graph; its parent as a path and names, which tell it apart."""

    rpc_id: str
    rpc_type: str | None
    upstream: int | None
    downstream: int | None
    interface: int | None
    repeats: int
    time_ms: int
    duration_ms: float | None
    inserted: bool = False
    contradicts: bool = False
    parent: Call | None = None


@dataclass
class Rebuilt:
    calls: list[Call] = field(default_factory=list)
    ledger: Counter[tuple[str, str]] = field(default_factory=Counter)


def rebuild_plainly(records: Sequence[Record], mode: str) -> Rebuilt:
    """The call graph of one trace."""
    return _Plain(records, mode).rebuild()


class _Plain(Mending):
    def __init__(self, records: Sequence[Record], mode: str) -> None:
        super().__init__(records)
        self.mode = mode
        self.result = Rebuilt()

    def rebuild(self) -> Rebuilt:
        repair = self.mode == "repair"
        self.ledger["several_entries", "kept"] = max(len(self.entries) - 1, 0)
        self.ledger["missing_call", "inserted" if repair else "kept"] = len(self.gaps)
        as_recorded = {path: list(records) for path, records in self.at.items()}
        counted = Counter(self.ledger)
        self.mend()
        calls = {path: self.group(path, records) for path, records in self.at.items()}
        if not repair:
            self.ledger.clear()
            self.ledger.update(counted)
        self.note_calls(calls)
        if repair:
            self.note_missing(self.at)
            self.grow(calls)
            self.note_settled(as_recorded)
        else:
            self.note_missing(as_recorded)
            self.naive(as_recorded)
        if self.ledger["rpc_id_not_a_path", "left out"]:
            self.ledger["incomplete_graph", "left out"] += 1
        self.result.ledger = Counter({key: n for key, n in self.ledger.items() if n})
        return self.result

    def group(self, path: str, records: list[Record]) -> list[Call]:
        groups: dict[tuple[Any, ...], list[Record]] = defaultdict(list)
        for r in records:
            groups[
                rank(r.rpc_type), *map(none_first, (r.upstream, r.downstream, r.interface))
            ].append(r)
        return [self.call(path, groups[key]) for key in sorted(groups)]

    def call(self, path: str, records: list[Record]) -> Call:
        first = records[0]
        return Call(
            rpc_id=path,
            rpc_type=first.rpc_type,
            upstream=first.upstream,
            downstream=first.downstream,
            interface=first.interface,
            repeats=number(records),
            time_ms=min(r.time_ms for r in records),
            duration_ms=duration(records),
        )

    def note_calls(self, calls: dict[str, list[Call]]) -> None:
        reused = sum(sum(call.repeats for call in some) - 1 for some in calls.values())
        self.ledger["reused_rpc_id", "kept apart" if self.mode == "repair" else "merged"] = reused
        for path, some in calls.items():
            records = self.at[path]
            for call in some:
                if call.rpc_type in TWICE:
                    mine = [r for r in records if key_of(r) == key_of_call(call)]
                    self.ledger["missing_twin", "kept"] += 2 * call.repeats - len(mine)

    def note_missing(self, at: dict[str, list[Record]]) -> None:
        for path, records in at.items():
            outside = "outside the trace" if path in self.entries else "kept"
            self.ledger["missing_upstream", outside] += sum(r.upstream is None for r in records)
            self.ledger["missing_downstream", "kept"] += sum(r.downstream is None for r in records)

    def naive(self, at: dict[str, list[Record]]) -> None:
        staying: dict[str, Call] = {}
        for path in sorted(at, key=lambda path: path.count(".")):
            records = at[path]
            self.ledger["several_upstreams", "first taken"] += several(r.upstream for r in records)
            downs = [r.downstream for r in records]
            self.ledger["several_downstreams", "first taken"] += several(downs)
            staying[path] = replace(
                self.call(path, records),
                upstream=first_known(r.upstream for r in records),
                downstream=first_known(downs),
                interface=first_known(r.interface for r in records),
                repeats=1,
                parent=staying.get(above(path) or ""),
            )
            parent = staying[path].parent
            if parent and several([staying[path].upstream, parent.downstream]):
                self.ledger["contradicts_parent", "kept"] += 1
                staying[path] = replace(staying[path], contradicts=True)
        self.result.calls = list(staying.values())
        tops = {path: top_of(call) for path, call in staying.items()}
        if tops:
            first = min(tops.values(), key=lambda path: (path.count("."), path))
            self.ledger["orphan", "kept"] = sum(top != first for top in tops.values())

    def grow(self, calls: dict[str, list[Call]]) -> None:
        for gap in self.gaps:
            calls[gap] = [self.insert(gap)]
        self.kept: dict[str, dict[int, Call]] = {path: {} for path in calls}
        for depth in range(101):
            level = [path for path in sorted(calls) if path.count(".") == depth]
            self.grow_level(
                [(path, number, call) for path in level for number, call in enumerate(calls[path])]
            )
        self.result.calls = [call for path in calls for call in self.kept[path].values()]

    def grow_level(self, calls: list[tuple[str, int, Call]]) -> None:
        lost = []
        for path, number, call in calls:
            if path in self.entries:
                self.kept[path][number] = call
            elif parent := self.find_parent(call):
                self.kept[path][number] = replace(call, parent=parent)
            else:
                lost.append((path, number, call))
        for path, number, call in self.beside(lost):
            parent, stays = self.further_up(call)
            self.kept[path][number] = replace(call, parent=parent, contradicts=stays)

    def beside(self, lost: list[tuple[str, int, Call]]) -> list[tuple[str, int, Call]]:
        """Hang what a call with the same rpc id can have made, again and again."""
        while True:
            results = [
                (path, number, call, parent)
                for path, number, call in lost
                if call.upstream is not None and (parent := self.reaching(path, call.upstream))
            ]
            if not results:
                return lost
            for path, number, call, parent in results:
                self.kept[path][number] = replace(call, parent=parent)
                lost.remove((path, number, call))
                self.ledger["contradicts_parent", "moved beside"] += 1

    def makers(self, path: str) -> list[Call]:
        """The kept calls of a path that can make others, in order."""
        staying = self.kept.get(path, {})
        return [staying[at] for at in sorted(staying) if staying[at].rpc_type not in STORES]

    def reaching(self, path: str, name: int | None) -> Call | None:
        return next((other for other in self.makers(path) if other.downstream == name), None)

    def further_up(self, call: Call) -> tuple[Call | None, bool]:
        """The call it hangs below, and whether it names another upstream than that reaches."""
        path = above(above(call.rpc_id) or "")
        while path in self.kept:
            makers = self.makers(path)
            named = makers[0] if makers and call.upstream is None else None
            result = named or (call.upstream is not None and self.reaching(path, call.upstream))
            if result:
                self.ledger["contradicts_parent", "moved up"] += 1
                return result, False
            path = above(path)
        path = above(call.rpc_id)
        while path in self.kept:
            if makers := self.makers(path):
                self.ledger["contradicts_parent", "kept"] += 1
                return makers[0], True
            path = above(path)
        self.ledger["orphan", "kept"] += 1
        return None, False

    def insert(self, gap: str) -> Call:
        up = above(gap)
        if gap in self.entries or up is None:
            caller = None
        elif up in self.gaps:
            caller = most_known(self.callers_below(up))
        else:
            caller = one_known(r.downstream for r in self.at[up] if r.rpc_type not in STORES)
        below = [p for p in self.at if p.startswith(f"{gap}.")]
        return Call(
            gap,
            None,
            caller,
            most_known(self.callers_below(gap)),
            None,
            1,
            min(r.time_ms for p in below for r in self.at[p]),
            None,
            inserted=True,
        )

    def find_parent(self, call: Call) -> Call | None:
        makers = self.makers(above(call.rpc_id) or "")
        if call.upstream is None:
            if len({other.downstream for other in makers}) > 1:
                self.ledger["ambiguous_parent", "first taken"] += 1
            return next(iter(makers), None)
        exact = [other for other in makers if other.downstream == call.upstream]
        if len(exact) > 1:
            self.ledger["ambiguous_parent", "first taken"] += 1
        return next(iter([*exact, *(o for o in makers if o.downstream is None)]), None)

    def note_settled(self, as_recorded: dict[str, list[Record]]) -> None:
        for path, records in as_recorded.items():
            left = [call for call in self.result.calls if call.rpc_id == path]
            for column in ("upstream", "downstream"):
                if several(getattr(r, column) for r in records):
                    still = several(getattr(call, column) for call in left)
                    action = "kept apart" if still else "settled"
                    self.ledger[f"several_{column}s", action] += 1


def number(records: list[Record]) -> int:
    """How many calls records of one rpc id with the same names show."""
    if records[0].rpc_type not in REMOTE:
        return len(records)
    sides = [side(r) for r in records]
    return max(sides.count(1), sides.count(-1), -(-len(records) // 2))


def duration(records: list[Record]) -> float | None:
    waited = [r.response_time_ms for r in records if side(r) > 0]
    every = [abs(r.response_time_ms) for r in records if r.response_time_ms is not None]
    return max((t for t in waited if t is not None), default=max(every, default=None))


def key_of(record: Record) -> tuple[Any, ...]:
    return record.rpc_type, record.upstream, record.downstream, record.interface


def key_of_call(call: Call) -> tuple[Any, ...]:
    return call.rpc_type, call.upstream, call.downstream, call.interface


def top_of(call: Call) -> str:
    while call.parent is not None:
        call = call.parent
    return call.rpc_id


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
    results = {trace: told(calls.get((trace,)), ledgers.get((trace,))) for trace in traces}
    plain = {
        trace: told_plainly(rebuild_plainly(records, mode)) for trace, records in traces.items()
    }
    return results, plain


def told(calls: pl.DataFrame | None, ledger: pl.DataFrame | None) -> Told:
    result = [] if calls is None else calls.to_dicts()
    noted = [] if ledger is None else ledger.to_dicts()
    return Told(
        Counter({(row["defect"], row["action"]): row["count"] for row in noted}),
        [row["call"] for row in result],
        Counter(described(result, row) for row in result),
    )


def told_plainly(plain: Rebuilt) -> Told:
    calls = Counter(described_plainly(call) for call in plain.calls)
    return Told(plain.ledger, list(range(len(plain.calls))), calls)
