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
    names = {value for value in values if value is not None}
    return names.pop() if len(names) == 1 else None


def most_known(values: Iterable[int | None]) -> int | None:
    """The value that more than half of those known are."""
    recorded = Counter(value for value in values if value is not None)
    return next((value for value, n in recorded.items() if 2 * n > recorded.total()), None)


def first_known(values: Iterable[int | None]) -> int | None:
    return next((value for value in values if value is not None), None)


def several(values: Iterable[int | None]) -> bool:
    return len({value for value in values if value is not None}) > 1


def known(values: Iterable[int | None]) -> Counter[int | None]:
    return Counter(value for value in values if value is not None)


def chosen(ends: list[int | None], expected: set[int | None]) -> int | None:
    """The first of two names that is known, but the second where only that is told."""
    first, second = ends
    if second is not None and second in expected and first not in expected:
        return second
    return first if first is not None else second


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
            entry = ".".join(common)
            upper, present = above(entry), self.at.get(entry, [])
            called = one_known(r.upstream for r in present) is not None
            if upper and called and any(r.downstream is not None for r in present):
                entry = upper
            entries.add(entry)
            gaps.add(entry)
            for numbers_of in paths:
                for length in range(len(common), len(numbers_of)):
                    gaps.add(".".join(numbers_of[:length]))
        return entries, {path for path in gaps if path not in self.at}

    def mend(self) -> None:
        for step in (self.turn_round, self.outvote_downstream, self.outvote_upstream):
            step(self.doubtful())
        for path, records in self.at.items():
            self.fill(path, "upstream", "named by twin", one_known(r.upstream for r in records))
        self.mend_twins()
        for path in self.at:
            self.mend_by_interface(path)
        callers = {path: self.callers_below(path) for path in self.at}
        for path, below in callers.items():
            caller = most_known(below)
            if all(record.downstream != caller for record in self.at[path]):
                self.fill(path, "downstream", "named by calls below", caller, only=REMOTE)
        named = {
            path: {r.downstream for r in records if r.rpc_type not in STORES} - {None}
            for path, records in self.at.items()
        }
        for path in self.at:
            callees = named.get(above(path) or "", set())
            self.fill(path, "upstream", "named by parent", one_known(callees))
        siblings = {path: most_known(self.callers_below(above(path))) for path in self.at}
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

    def own(self, path: str | None) -> Counter[int | None]:
        """Which services the calls at a path that can call on reach, by records."""
        records = self.at.get(path or "", [])
        return known(r.downstream for r in records if r.rpc_type not in STORES)

    def below(self, path: str | None) -> Counter[int | None]:
        return known(self.callers_below(path))

    def explained(self, path: str | None, name: int | None) -> bool:
        """Whether a service called the path, or was reached by a call above it."""
        if any(r.upstream == name for r in self.at.get(path or "", [])):
            return True
        up = above(path or "")
        while up:
            if self.own(up)[name]:
                return True
            up = above(up)
        return False

    def doubtful(self) -> list[tuple[str, int]]:
        """Path and number of the records that do not name the service above as their upstream."""
        results = []
        for path, records in self.at.items():
            for number, r in enumerate(records):
                reached = set() if path in self.entries else set(self.own(above(path)))
                other = bool(reached) and reached != {r.upstream}
                halved = path in self.entries and r.downstream is None
                if r.upstream is not None and (other or halved):
                    results.append((path, number))
        return results

    def turn_round(self, doubtful: list[tuple[str, int]]) -> None:
        turned = []
        for path, number in doubtful:
            r, up = self.at[path][number], above(path)
            if path in self.entries:
                fits = r.downstream is None and self.below(path)[r.upstream] > 0
            else:
                own = self.own(up)
                fits = r.downstream is not None and own[r.downstream] > 0 and not own[r.upstream]
                fits = fits and self.below(up)[r.upstream] == 1
                fits = fits and not self.explained(up, r.upstream)
            if fits:
                turned.append((path, number))
        for path, number in turned:
            r = self.at[path][number]
            self.at[path][number] = r._replace(upstream=r.downstream, downstream=r.upstream)
        self.ledger["swapped_ends", "turned round"] += len(turned)

    def outvote_downstream(self, doubtful: list[tuple[str, int]]) -> None:
        changes = []
        for up in {above(path) for path, _ in doubtful if path not in self.entries}:
            own, votes = self.own(up), self.below(up)
            if own.total() != 1 or votes[next(iter(own))]:
                continue
            most = max(votes.values(), default=0)
            best = [name for name, n in votes.items() if n == most]
            if most >= 2 and len(best) == 1 and not self.explained(up, best[0]):
                changes.append((up or "", next(iter(own)), best[0]))
        for up, lone, best_name in changes:
            for number, r in enumerate(self.at[up]):
                if r.downstream == lone and r.rpc_type not in STORES:
                    self.at[up][number] = r._replace(downstream=best_name)
        self.ledger["outvoted_downstream", "named by calls below"] += len(changes)

    def outvote_upstream(self, doubtful: list[tuple[str, int]]) -> None:
        reached = {name for path in self.at for name in self.own(path)}
        changes = []
        for path, number in doubtful:
            r, up = self.at[path][number], above(path)
            own, votes = self.own(up), self.below(up)
            if path in self.entries or len(own) != 1 or votes[r.upstream] != 1:
                continue
            caller = next(iter(own))
            enough = own[caller] + votes[caller] >= 2
            if enough and not self.explained(up, r.upstream) and r.upstream not in reached:
                changes.append((path, number, caller))
        for path, number, caller in changes:
            self.at[path][number] = self.at[path][number]._replace(upstream=caller)
        self.ledger["outvoted_upstream", "named by parent"] += len(changes)

    def mend_twins(self) -> None:
        pairs = [
            (path, which)
            for path, records in self.at.items()
            for rpc_type in REMOTE
            if self.are_twins(
                records, which := [i for i, r in enumerate(records) if r.rpc_type == rpc_type]
            )
        ]
        reached = {path: set(self.own(above(path))) for path, _ in pairs}
        for path, which in pairs:
            ends = [self.at[path][i].upstream for i in which]
            result = set() if path in self.entries else reached[path]
            self.share(path, which, "upstream", chosen(ends, result))
        callers = {path: set(self.below(path)) for path, _ in pairs}
        for path, which in pairs:
            records = self.at[path]
            ends = [records[i].downstream for i in which[::-1]]
            self.share(path, which, "downstream", chosen(ends, callers[path]))
            interface = first_known(records[i].interface for i in which[::-1])
            for i in which:
                records[i] = records[i]._replace(interface=interface)

    def share(self, path: str, which: list[int], column: str, value: int | None) -> None:
        self.fill(path, column, "named by twin", value, chosen=set(which))
        for i in which if value is not None else []:
            self.at[path][i] = named_record(self.at[path][i], column, value or 0)

    def are_twins(self, records: list[Record], which: list[int]) -> bool:
        if len(which) != 2:
            return False
        calling, called = (records[i] for i in which)
        if side(calling) < 0 or side(called) > 0:
            return False
        clear = (
            side(calling) != side(called)
            and calling.response_time_ms is not None
            and called.response_time_ms is not None
            and abs(called.response_time_ms) <= abs(calling.response_time_ms)
        )
        if several([calling.upstream, called.upstream]):
            return (
                clear
                and calling.downstream is not None
                and (calling.downstream == called.downstream)
            )
        return clear or not several([calling.downstream, called.downstream])

    def mend_by_interface(self, path: str) -> None:
        records = self.at[path]
        for key in {(r.rpc_type, r.interface) for r in records if r.rpc_type in REMOTE}:
            alike = {i for i, r in enumerate(records) if (r.rpc_type, r.interface) == key}
            result = one_known(records[i].downstream for i in alike)
            self.fill(path, "downstream", "named by twin", result, chosen=alike)
