"""The records of one trace by rpc id, and what can be mended in them: slow and obvious."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from callgraph_support import Record

REMOTE, TWICE, STORES = {"rpc", "http", "mq"}, {"rpc", "http"}, {"mc", "db"}
PATH = re.compile(r"[0-9]+(\.[0-9]+){0,99}")


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


class Mending:
    """Records by their path, the entries and gaps between them, and a ledger of what was done."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.ledger: Counter[tuple[str, str]] = Counter()
        paths = [record for record in records if PATH.fullmatch(record.rpc_id)]
        good = list(dict.fromkeys(paths))
        self.ledger["rpc_id_not_a_path", "left out"] = len(records) - len(paths)
        self.ledger["duplicate_record", "merged"] = len(paths) - len(good)
        self.at: dict[str, list[Record]] = defaultdict(list)
        for record in sorted(good, key=order):
            self.at[record.rpc_id].append(record)
        self.entries, self.gaps = self.find_gaps()

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
