"""Records that stand under another call's rpc id, given back their own: slow and obvious."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from callgraph_support import Record

Step = Callable[[], dict[int, str]]
CLOCKS_APART_MS, NETWORK_MS = 20, 3
TWICE, STORES = {"rpc", "http"}, {"mc", "db"}


def above(path: str) -> str | None:
    return path.rpartition(".")[0] or None


def side(record: Record) -> int:
    time = record.response_time_ms or 0
    return (time > 0) - (time < 0)


def last(path: str) -> int:
    """The last number of a path; 0 if it is none that calls are counted by."""
    number = path.rpartition(".")[2]
    return int(number) if len(number) <= 4 and number[0] != "0" else 0


def in_company(r: Record, others: list[Record]) -> bool:
    """Whether another is, or may be, of the same call or of one that it made."""
    return any(o.downstream in (None, r.downstream) or o.upstream == r.downstream for o in others)


class Returning:
    """The records of one trace, as a list whose rpc ids change."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = list(records)
        self.ledger: Counter[tuple[str, str]] = Counter()
        steps: dict[str, Step] = {
            "named by twin": self.to_twins,
            "put in a gap": lambda: self.uncontested(self.homes(self.gap_for)),
            "moved up": lambda: self.homes(self.level_above),
        }
        for action, step in steps.items():
            self.look()
            homes = step()
            for number, home in homes.items():
                self.records[number] = self.records[number]._replace(rpc_id=home)
            self.ledger["shifted_rpc_id", action] += len(homes)

    def look(self) -> None:
        self.at: dict[str, list[int]] = defaultdict(list)
        self.below: dict[str | None, list[str]] = defaultdict(list)
        for number, r in enumerate(self.records):
            self.at[r.rpc_id].append(number)
        for path in self.at:
            self.below[above(path)].append(path)

    def reached(self, path: str | None, name: int | None) -> bool:
        """Whether a call at a path that can call on reaches a service."""
        there = (self.records[number] for number in self.at.get(path or "", []))
        return any(r.downstream == name and r.rpc_type not in STORES for r in there)

    def called_on(self, path: str, name: int | None) -> bool:
        numbers = (number for below in self.below.get(path, []) for number in self.at[below])
        return any(self.records[number].upstream == name for number in numbers)

    def named(self) -> Iterable[tuple[int, Record]]:
        for number, r in enumerate(self.records):
            if None not in (r.upstream, r.downstream) and r.upstream != r.downstream:
                yield number, r

    def one_too_many(self, r: Record) -> bool:
        """Whether more of the same end are at its place than of the other end."""
        if r.rpc_type not in TWICE:
            return True
        like = [self.records[n] for n in self.at[r.rpc_id]]
        like = [o for o in like if (o.rpc_type, o.upstream) == (r.rpc_type, r.upstream)]
        return 2 * sum(side(o) == side(r) for o in like) > len(like)

    def to_twins(self) -> dict[int, str]:
        ends: dict[tuple[object, ...], list[int]] = defaultdict(list)
        for number, r in self.named():
            ends[r.rpc_type, r.upstream, r.downstream].append(number)
        homes: dict[int, str] = {}
        for pair in ends.values():
            sides = sorted(side(self.records[n]) for n in pair)
            if sides == [-1, 1] and self.records[pair[0]].rpc_type in TWICE:
                calling, called = sorted(pair, key=lambda n: -side(self.records[n]))
                homes |= self.joined(calling, called)
        return homes

    def joined(self, calling: int, called: int) -> dict[int, str]:
        one, other = self.records[calling], self.records[called]
        waited, worked = abs(one.response_time_ms or 0), abs(other.response_time_ms or 0)
        later_ms = other.time_ms - one.time_ms
        inside = 0 <= later_ms <= waited - worked
        strange = self.stranger(calling) != self.stranger(called)
        if not inside and not (strange and abs(later_ms) <= waited + CLOCKS_APART_MS):
            return {}
        alike = one.rpc_id != other.rpc_id and one.interface == other.interface
        lone = self.one_too_many(one) and self.one_too_many(other)
        if not alike or not lone or not 0 <= waited - worked <= NETWORK_MS:
            return {}
        ours, theirs = (self.fit(r.rpc_id, r) for r in (one, other))
        if ours == theirs and above(one.rpc_id) == above(other.rpc_id):
            numbers = [last(r.rpc_id) for r in (one, other)]
            ours, theirs = ((-n,) if all(numbers) else () for n in numbers)
        if ours > theirs:
            return {called: one.rpc_id}
        return {calling: other.rpc_id} if ours < theirs else {}

    def stranger(self, number: int) -> bool:
        """Whether the call above is known and reaches others, or another call has the rpc id."""
        r = self.records[number]
        there = [self.records[n] for n in self.at.get(above(r.rpc_id) or "", [])]
        known = any(o.downstream is not None for o in there)
        if known and not self.reached(above(r.rpc_id), r.upstream):
            return True
        others = [self.records[n] for n in self.at[r.rpc_id] if n != number]
        return bool(others) and not in_company(r, others)

    def fit(self, path: str, r: Record) -> tuple[int, ...]:
        caller = self.reached(above(path), r.upstream)
        return caller + self.called_on(path, r.downstream), len(self.at[path]) == 1

    def homes(self, find: Callable[[Record, list[Record]], str | None]) -> dict[int, str]:
        """The rpc id that ``find`` has for the records one too many at their place."""
        found = {}
        for number, r in self.named():
            others = [self.records[n] for n in self.at[r.rpc_id] if n != number]
            if self.one_too_many(r) and (home := find(r, others)):
                found[number] = home
        return found

    def gap_for(self, r: Record, others: list[Record]) -> str | None:
        if not others or in_company(r, others):
            return None
        if self.reached(above(r.rpc_id), r.upstream):
            return self.hole(above(r.rpc_id) or "")
        return self.hole(r.rpc_id) if self.reached(r.rpc_id, r.upstream) else None

    def hole(self, path: str) -> str | None:
        """The one number that is missing among the calls below a path."""
        numbers = {number for below in self.below[path] if (number := last(below))}
        missing = set(range(1, max(numbers, default=0))) - numbers
        return f"{path}.{missing.pop()}" if len(missing) == 1 else None

    def uncontested(self, homes: dict[int, str]) -> dict[int, str]:
        claims: dict[str, list[int]] = defaultdict(list)
        for number, home in homes.items():
            claims[home].append(number)
        won = {home: self.first(home, some) for home, some in claims.items()}
        return {number: home for home, number in won.items() if number is not None}

    def first(self, home: str, claimants: list[int]) -> int | None:
        """Of several records of one place beside a gap, the one whose time puts it nearer."""
        paths = {self.records[n].rpc_id for n in claimants}
        if len(claimants) == 1 or len(paths) > 1:
            return claimants[0] if len(claimants) == 1 else None
        path = paths.pop()
        if above(path) != above(home):
            return None
        sign = 1 if last(home) < last(path) else -1
        times = [sign * self.records[n].time_ms for n in claimants]
        best = [n for n, time in zip(claimants, times, strict=True) if time == min(times)]
        return best[0] if len(best) == 1 else None

    def level_above(self, r: Record, others: list[Record]) -> str | None:
        up = above(r.rpc_id)
        if others or up is None or up in self.at or last(r.rpc_id) < 2:
            return None
        if any(path.startswith(f"{up}.") for path in self.at if path != r.rpc_id):
            return None
        own = any(o.upstream == o.downstream == r.upstream for o in self.records)
        return up if self.reached(above(up), r.upstream) and not own else None
