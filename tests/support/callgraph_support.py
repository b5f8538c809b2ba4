"""Call graphs the slow and obvious way: one trace at a time, dictionaries and loops.

What ``tracekit.callgraph`` does with arrays over many traces is done here by following its
documentation sentence by sentence, and the two must agree on every call and every ledger entry.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import polars as pl

REMOTE, TWICE, STORES = {"rpc", "http", "mq"}, {"rpc", "http"}, {"mc", "db"}
PATH = re.compile(r"[0-9]+(\.[0-9]+){0,99}")


class Record(NamedTuple):
    """One row of the call table; names are None where they are missing."""

    time_ms: int
    rpc_id: str
    upstream: int | None
    rpc_type: str | None
    downstream: int | None
    interface: int | None
    response_time_ms: float | None


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
    parent: Call | None = None


@dataclass
class Rebuilt:
    calls: list[Call] = field(default_factory=list)
    ledger: Counter[tuple[str, str]] = field(default_factory=Counter)


def rows_of(
    traces: Mapping[int, Iterable[Record]], parts: Mapping[int, int] | None = None
) -> pl.DataFrame:
    """Traces as rows of ``call_keyed`` with ``part``."""
    columns: dict[str, Any] = {
        "time_ms": pl.Int64,
        "rpc_id": pl.String,
        "upstream_key": pl.Int32,
        "rpc_type": pl.String,
        "downstream_key": pl.Int32,
        "interface_key": pl.Int32,
        "response_time_ms": pl.Float64,
    }
    rows = [(trace, (parts or {}).get(trace, 0), *r) for trace, rs in traces.items() for r in rs]
    return pl.DataFrame(
        rows, schema={"trace_key": pl.Int32, "part": pl.Int32, **columns}, orient="row"
    )


def records_of(rows: pl.DataFrame) -> dict[int, list[Record]]:
    """Rows of ``call_keyed`` as records, by trace."""
    traces: dict[int, list[Record]] = defaultdict(list)
    names = [
        "time_ms",
        "rpc_id",
        "upstream_key",
        "rpc_type",
        "downstream_key",
        "interface_key",
        "response_time_ms",
    ]
    for row in rows.select("trace_key", *names).rows():
        traces[row[0]].append(Record(*row[1:]))
    return traces


def rebuild_plainly(records: Sequence[Record], mode: str, *, move: bool = True) -> Rebuilt:
    """The call graph of one trace."""
    return _Plain(records, mode, move=move).rebuild()


def named_record(record: Record, column: str, value: int) -> Record:
    if column == "upstream":
        return record._replace(upstream=value)
    return record._replace(downstream=value)


def one_known(values: Iterable[int | None]) -> int | None:
    known = {value for value in values if value is not None}
    return known.pop() if len(known) == 1 else None


def first_known(values: Iterable[int | None]) -> int | None:
    return next((value for value in values if value is not None), None)


def several(values: Iterable[int | None]) -> bool:
    return len({value for value in values if value is not None}) > 1


def above(path: str) -> str | None:
    return path.rpartition(".")[0] or None


def side(record: Record) -> int:
    time = record.response_time_ms or 0
    return (time > 0) - (time < 0)


def rank(rpc_type: str | None) -> tuple[int, str]:
    """Remote types first, stores and then the unnamed last."""
    if rpc_type is None:
        return 3, ""
    return (0 if rpc_type in REMOTE else 2 if rpc_type in STORES else 1), rpc_type


def none_first(value: int | None) -> int:
    return -1 if value is None else value


def order(record: Record) -> tuple[Any, ...]:
    return (
        rank(record.rpc_type),
        -(record.response_time_ms or 0),
        record.time_ms,
        none_first(record.upstream),
        none_first(record.downstream),
        none_first(record.interface),
    )


class _Plain:
    def __init__(self, records: Sequence[Record], mode: str, *, move: bool) -> None:
        self.mode, self.move = mode, move
        self.result = Rebuilt()
        self.ledger = self.result.ledger
        paths = [record for record in records if PATH.fullmatch(record.rpc_id)]
        good = list(dict.fromkeys(paths))
        self.ledger["rpc_id_not_a_path", "left out"] = len(records) - len(paths)
        self.ledger["duplicate_record", "merged"] = len(paths) - len(good)
        self.at: dict[str, list[Record]] = defaultdict(list)
        for record in sorted(good, key=order):
            self.at[record.rpc_id].append(record)
        self.entries, self.gaps = self.find_gaps()

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
        self.result.ledger = Counter({key: n for key, n in self.ledger.items() if n})
        return self.result

    def find_gaps(self) -> tuple[set[str], set[str]]:
        trees: dict[str, list[list[str]]] = defaultdict(list)
        for path in self.at:
            trees[path.split(".")[0]].append(path.split("."))
        entries, gaps = set(), set()
        for paths in trees.values():
            common = []
            for numbers in zip(*paths, strict=False):
                if len(set(numbers)) > 1:
                    break
                common.append(numbers[0])
            entries.add(".".join(common))
            for numbers_of in paths:
                for length in range(len(common), len(numbers_of)):
                    gaps.add(".".join(numbers_of[:length]))
            gaps.add(".".join(common))
        return entries, {path for path in gaps if path not in self.at}

    def mend(self) -> None:
        for path, records in self.at.items():
            self.fill(path, "upstream", "named by twin", one_known(r.upstream for r in records))
            self.mend_twins(path)
            self.mend_by_interface(path)
        callers = {path: self.callers_below(path) for path in self.at}
        for path, below in callers.items():
            caller = one_known(below)
            if all(record.downstream != caller for record in self.at[path]):
                self.fill(path, "downstream", "named by calls below", caller, only=REMOTE)
        named = {
            path: {r.downstream for r in records if r.rpc_type not in STORES} - {None}
            for path, records in self.at.items()
        }
        for path in self.at:
            callees = named.get(above(path) or "", set())
            self.fill(path, "upstream", "named by parent", one_known(callees))
        siblings = {path: one_known(self.callers_below(above(path))) for path in self.at}
        for path in self.at:
            beside = above(path) in self.at or above(path) in self.gaps
            if beside and len(named.get(above(path) or "", set())) < 2:
                self.fill(path, "upstream", "named by siblings", siblings[path])

    def callers_below(self, path: str | None) -> list[int | None]:
        return [
            record.upstream
            for other, records in self.at.items()
            if path is not None and above(other) == path
            for record in records
        ]

    def fill(
        self,
        path: str,
        column: str,
        action: str,
        value: int | None,
        *,
        only: set[str] | None = None,
        chosen: set[int] | None = None,
    ) -> None:
        if value is None:
            return
        for index, record in enumerate(self.at[path]):
            fits = only is None or record.rpc_type in only
            if getattr(record, column) is None and fits and (chosen is None or index in chosen):
                self.at[path][index] = named_record(record, column, value)
                self.ledger[f"missing_{column}", action] += 1

    def mend_twins(self, path: str) -> None:
        records = self.at[path]
        for rpc_type in REMOTE:
            which = [i for i, record in enumerate(records) if record.rpc_type == rpc_type]
            if len(which) != 2:
                continue
            calling, called = (records[i] for i in which)
            if (
                side(calling) < 0
                or side(called) > 0
                or several([calling.upstream, called.upstream])
            ):
                continue
            if several([calling.downstream, called.downstream]) and not (
                side(calling) != side(called)
                and calling.response_time_ms is not None
                and called.response_time_ms is not None
                and abs(called.response_time_ms) <= abs(calling.response_time_ms)
            ):
                continue
            ends, chosen = (calling, called), set(which)
            up = first_known(r.upstream for r in ends)
            down = first_known(r.downstream for r in ends[::-1])
            self.fill(path, "upstream", "named by twin", up, chosen=chosen)
            self.fill(path, "downstream", "named by twin", down, chosen=chosen)
            interface = first_known(r.interface for r in ends[::-1])
            for i in which:
                records[i] = records[i]._replace(downstream=down, interface=interface)

    def mend_by_interface(self, path: str) -> None:
        records = self.at[path]
        for key in {(r.rpc_type, r.interface) for r in records if r.rpc_type in REMOTE}:
            alike = {i for i, r in enumerate(records) if (r.rpc_type, r.interface) == key}
            found = one_known(records[i].downstream for i in alike)
            self.fill(path, "downstream", "named by twin", found, chosen=alike)

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
        kept: dict[str, Call] = {}
        for path in sorted(at, key=lambda path: path.count(".")):
            records = at[path]
            self.ledger["several_upstreams", "first taken"] += several(r.upstream for r in records)
            downs = [r.downstream for r in records]
            self.ledger["several_downstreams", "first taken"] += several(downs)
            kept[path] = replace(
                self.call(path, records),
                upstream=first_known(r.upstream for r in records),
                downstream=first_known(downs),
                interface=first_known(r.interface for r in records),
                repeats=1,
                parent=kept.get(above(path) or ""),
            )
            parent = kept[path].parent
            if parent and several([kept[path].upstream, parent.downstream]):
                self.ledger["contradicts_parent", "kept"] += 1
        self.result.calls = list(kept.values())
        tops = {path: top_of(call) for path, call in kept.items()}
        if tops:
            first = min(tops.values(), key=lambda path: (path.count("."), path))
            self.ledger["orphan", "kept"] = sum(top != first for top in tops.values())

    def grow(self, calls: dict[str, list[Call]]) -> None:
        for gap in self.gaps:
            calls[gap] = [self.insert(gap)]
        kept: dict[str, list[Call]] = {}
        for path in sorted(calls, key=lambda path: (path.count("."), path)):
            kept[path] = []
            for call in calls[path]:
                if path in self.entries:
                    kept[path].append(call)
                    continue
                parent = self.find_parent(call, kept)
                if parent is not None:
                    kept[path].append(replace(call, parent=parent))
        self.result.calls = [call for some in kept.values() for call in some]

    def insert(self, gap: str) -> Call:
        up = above(gap)
        if gap in self.entries or up is None:
            caller = None
        elif up in self.gaps:
            caller = one_known(self.callers_below(up))
        else:
            caller = one_known(r.downstream for r in self.at[up] if r.rpc_type not in STORES)
        below = [p for p in self.at if p.startswith(f"{gap}.")]
        return Call(
            gap,
            None,
            caller,
            one_known(self.callers_below(gap)),
            None,
            1,
            min(r.time_ms for p in below for r in self.at[p]),
            None,
            inserted=True,
        )

    def find_parent(self, call: Call, kept: dict[str, list[Call]]) -> Call | None:
        there = kept[above(call.rpc_id) or ""]
        makers = [other for other in there if other.rpc_type not in STORES]
        if call.upstream is None:
            agree = makers and len({other.downstream for other in makers}) == 1
            if not agree:
                self.ledger["orphan", "left out"] += 1
            return makers[0] if agree else None
        exact = [other for other in makers if other.downstream == call.upstream]
        if len(exact) > 1:
            self.ledger["ambiguous_parent", "first taken"] += 1
        for other in [*exact, *(o for o in makers if o.downstream is None)]:
            return other
        if not there:
            self.ledger["orphan", "left out"] += 1
            return None
        path = above(above(call.rpc_id) or "")
        while self.move and path in kept:
            for other in kept[path]:
                if other.rpc_type not in STORES and other.downstream == call.upstream:
                    self.ledger["contradicts_parent", "moved up"] += 1
                    return other
            path = above(path)
        self.ledger["contradicts_parent", "left out"] += 1
        return None

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
