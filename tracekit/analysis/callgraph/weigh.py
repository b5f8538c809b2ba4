"""Names that the rest of a trace outvotes: what one record says alone against records that agree.

A place has one service: the one its call reached, which then made the calls below. The records at
the place name it as their downstream, those directly below as their upstream, and each is a vote.
A name that a record gives alone is changed only where another has two votes or more, or where the
record names its two ends the wrong way round. It is left alone where numbering explains it: where a
call above reaches the service, its calls were numbered below a sibling, and the tree moves them.
"""

from dataclasses import dataclass

import numpy as np

from tracekit.analysis.callgraph.ledger import Action, Defect, Ledger
from tracekit.analysis.callgraph.places import Places
from tracekit.analysis.callgraph.records import UNKNOWN, Names, Records, agreed, at_or, find
from tracekit.base.arrays import BoolArray, Int32Array, IntArray

#: Votes that a name needs to take the place of one that a record gives alone.
ENOUGH = 2


def weigh(records: Records, places: Places, names: Names, ledger: Ledger) -> None:
    """Change the names that are outvoted, in place, and note each in the ledger.

    In this order: records that name their ends the wrong way round; the downstream of a call by
    the upstreams of the calls below it; the upstream of a call by the downstream of the one above
    and the upstreams of those beside it.
    """
    doubts = _Doubts(records, places, names)
    for step in (_turn_round, _downstream, _upstream):
        if len(doubts.records) and step(doubts, ledger):
            doubts = _Doubts(records, places, names)


@dataclass(frozen=True)
class Votes:
    """How many records give a name to a place.

    Parameters
    ----------
    keys : int64
        Place and name in one number, sorted, each once.
    count, first : int64
        Records with the key, and one of them.
    """

    keys: IntArray
    count: IntArray
    first: IntArray

    def of(self, wanted: IntArray) -> IntArray:
        """Records with each of the wanted keys."""
        at = find(self.keys, wanted)
        return np.where(at >= 0, self.count[np.maximum(at, 0)] if len(self.keys) else 0, 0)


def votes(records: IntArray, keys: IntArray) -> Votes:
    """Count the records by key; ``keys`` has one for each of ``records``."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    fresh = np.ones(len(keys), dtype=np.bool_)
    fresh[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(fresh)
    return Votes(
        keys=ordered[starts],
        count=np.diff(starts, append=len(keys)),
        first=records[order[starts]],
    )


class _Doubts:
    """The records whose upstream is not the service of the place above, and votes around them.

    Parameters
    ----------
    records : int64
        Records in doubt, and entries whose callee alone is missing.
    own, below, callers : Votes
        Of downstreams for the record's place, of upstreams for the place above it, and of
        upstreams for the record's place; in traces with a doubt.
    """

    def __init__(self, records: Records, places: Places, names: Names) -> None:
        self.of, self.places, self.names = records, places, names
        self.place = places.of_record
        self.above = places.parent[self.place]
        self.calls_on = ~records.store[records.kind]
        self.size = int(max(names.upstream.max(initial=0), names.downstream.max(initial=0))) + 1
        self.records = self._in_doubt()
        self._count()

    def _in_doubt(self) -> IntArray:
        up, down = self.names.upstream, self.names.downstream
        reached = agreed(down, np.where(self.calls_on, self.place, -1), len(self.places))
        caller = at_or(reached, self.above, UNKNOWN)
        contradicts = (caller != UNKNOWN) & (caller != up)
        entry = (down < 0) & self.places.entry[self.place]
        return np.flatnonzero((up >= 0) & (contradicts | entry))

    def _count(self) -> None:
        trace = self.of.trace
        doubtful = np.zeros(len(self.of.traces), dtype=np.bool_)
        doubtful[trace[self.records]] = True
        near = np.flatnonzero(doubtful[trace])
        up, down = self.names.upstream, self.names.downstream
        called = near[self.calls_on[near] & (down[near] >= 0)]
        calling = near[up[near] >= 0]
        inner = calling[self.above[calling] >= 0]
        self.own = votes(called, self.key(self.place[called], down[called]))
        self.below = votes(inner, self.key(self.above[inner], up[inner]))
        self.callers = votes(calling, self.key(self.place[calling], up[calling]))

    def key(self, place: IntArray, name: Int32Array | IntArray) -> IntArray:
        """Place and name as one number."""
        return place * self.size + name

    def explained(self, place: IntArray, name: IntArray) -> BoolArray:
        """Whether a service called this place, or was reached by a call above it."""
        found = self.callers.of(self.key(place, name)) > 0
        at = self.places.parent[place]
        while (at >= 0).any():
            found |= (at >= 0) & (self.own.of(self.key(at, name)) > 0)
            at = np.where(at >= 0, self.places.parent[at], -1)
        return found

    def only_name(self, place: IntArray) -> IntArray:
        """The one downstream that the records of a place give, -1 where there are more or none."""
        low = np.searchsorted(self.own.keys, place * self.size)
        high = np.searchsorted(self.own.keys, (place + 1) * self.size)
        one = np.flatnonzero(high - low == 1)
        found = np.full(len(place), -1, dtype=np.int64)
        found[one] = self.own.keys[low[one]] - place[one] * self.size
        return found


def _turn_round(doubts: _Doubts, ledger: Ledger) -> bool:
    """A record alone whose upstream should be its downstream, and the other way round.

    Its downstream is the service of the place above. Of an entry, that has nothing above, its
    downstream is missing and the calls below give its upstream as theirs.
    """
    which, names = doubts.records, doubts.names
    up, down = names.upstream[which].astype(np.int64), names.downstream[which].astype(np.int64)
    above = doubts.above[which]
    there = np.maximum(above, 0)
    inner = (above >= 0) & (down >= 0) & (doubts.own.of(doubts.key(there, down)) > 0)
    inner &= doubts.own.of(doubts.key(there, up)) == 0
    inner &= doubts.below.of(doubts.key(there, up)) == 1
    at = np.flatnonzero(inner)
    inner[at] = ~doubts.explained(there[at], up[at])
    entry = doubts.places.entry[doubts.place[which]] & (down < 0)
    entry &= doubts.below.of(doubts.key(doubts.place[which], up)) > 0
    turned = which[inner | entry]
    names.upstream[turned], names.downstream[turned] = (
        names.downstream[turned],
        names.upstream[turned],
    )
    return _note(doubts, ledger, "swapped_ends", "turned round", turned)


def _downstream(doubts: _Doubts, ledger: Ledger) -> bool:
    """A downstream that one record alone gives, where the calls below agree on another."""
    places = np.unique(doubts.above[doubts.records])
    places = places[places >= 0]
    alone = doubts.only_name(places)
    places, alone = places[alone >= 0], alone[alone >= 0]
    own = find(doubts.own.keys, doubts.key(places, alone))
    lone = doubts.own.count[own] == 1
    lone &= doubts.below.of(doubts.key(places, alone)) == 0
    places, own = places[lone], own[lone]
    winner = _most_below(doubts, places)
    told = np.flatnonzero(winner >= 0)
    told = told[~doubts.explained(places[told], winner[told])]
    changed = doubts.own.first[own[told]]
    doubts.names.downstream[changed] = winner[told]
    return _note(doubts, ledger, "outvoted_downstream", "named by calls below", changed)


def _most_below(doubts: _Doubts, places: IntArray) -> IntArray:
    """The upstream that most records below a place give, if enough do; else -1."""
    low = np.searchsorted(doubts.below.keys, places * doubts.size)
    high = np.searchsorted(doubts.below.keys, (places + 1) * doubts.size)
    group = np.repeat(np.arange(len(places)), high - low)
    at = np.arange(len(group)) - np.repeat(np.cumsum(high - low) - high, high - low)
    count = doubts.below.count[at]
    most = np.full(len(places), ENOUGH)
    np.maximum.at(most, group, count)
    name = (doubts.below.keys[at] - places[group] * doubts.size).astype(np.int32)
    best = agreed(name, np.where(count == most[group], group, -1), len(places))
    return np.maximum(best, -1).astype(np.int64)


def _upstream(doubts: _Doubts, ledger: Ledger) -> bool:
    """An upstream that one record alone gives, and that no call of its trace reached."""
    which = doubts.records[doubts.above[doubts.records] >= 0]
    up, above = doubts.names.upstream[which].astype(np.int64), doubts.above[which]
    caller = doubts.only_name(above)
    told = np.flatnonzero((caller >= 0) & (doubts.below.of(doubts.key(above, up)) == 1))
    key = doubts.key(above[told], caller[told])
    told = told[doubts.own.of(key) + doubts.below.of(key) >= ENOUGH]
    told = told[~doubts.explained(above[told], up[told])]
    told = told[~_reached(doubts, which[told], up[told])]
    doubts.names.upstream[which[told]] = caller[told]
    return _note(doubts, ledger, "outvoted_upstream", "named by parent", which[told])


def _reached(doubts: _Doubts, which: IntArray, name: IntArray) -> BoolArray:
    """Whether any call of the record's trace reaches a service."""
    place, named = np.divmod(doubts.own.keys, doubts.size)
    keys = np.unique(doubts.places.trace[place] * doubts.size + named)
    reached: BoolArray = find(keys, doubts.of.trace[which] * doubts.size + name) >= 0
    return reached


def _note(doubts: _Doubts, ledger: Ledger, defect: Defect, action: Action, which: IntArray) -> bool:
    """Note what was done to records; whether it was any."""
    ledger.note(defect, action, doubts.of.trace[which])
    return len(which) > 0
