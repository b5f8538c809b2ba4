"""Names that other records of a trace outvote.

A place has one service: the call of the place reached it, and it made the calls below. The records
at the place name this service as their downstream, and the records directly below as their
upstream; each naming is a vote. A name that only one record gives is changed only if another name
has two votes or more, or if the record names its two ends the wrong way round. The name stays if
numbering explains it: if a call above reaches the service, its calls were numbered below a sibling,
and the tree moves them.
"""

from dataclasses import dataclass

import numpy as np

from tracekit.analysis.callgraph.ledger import Action, Defect, Ledger
from tracekit.analysis.callgraph.places import Places
from tracekit.analysis.callgraph.records import UNKNOWN, Names, Records, agreed, at_or, find
from tracekit.base.arrays import BoolArray, Int32Array, IntArray

#: Votes that replace a name which only one record gives.
ENOUGH = 2


def weigh(records: Records, places: Places, names: Names, ledger: Ledger) -> None:
    """Change the names that other records outvote, in place; count each change in the ledger.

    1. Exchange upstream and downstream of records that name them the wrong way round.
    2. Change a call's downstream to the service that the calls below name as their upstream.
    3. Change a call's upstream to the service that the call above and its other calls name.
    """
    doubts = _Doubts(records, places, names)
    for step in (_turn_round, _downstream, _upstream):
        if len(doubts.records) and step(doubts, ledger):
            doubts = _Doubts(records, places, names)


@dataclass(frozen=True)
class Votes:
    """The number of records that give a name (a service) to a place (an rpc id of a trace).

    Parameters
    ----------
    keys : int64
        One number for each pair of place and name; sorted and distinct.
    count, first : int64
        The number of records with the key, and the position of the first of them.
    """

    keys: IntArray
    count: IntArray
    first: IntArray

    def of(self, wanted: IntArray) -> IntArray:
        """Return the number of records with each of the wanted keys."""
        at = find(self.keys, wanted)
        return np.where(at >= 0, self.count[np.maximum(at, 0)] if len(self.keys) else 0, 0)


def votes(records: IntArray, keys: IntArray) -> Votes:
    """Return how many records have each key; ``keys[i]`` is the key of record ``records[i]``."""
    named, first, count = np.unique(keys, return_index=True, return_counts=True)
    return Votes(keys=named, count=count, first=records[first])


class _Doubts:
    """Records whose upstream is not the service of the place above, and the votes around them.

    Only traces with such a record are counted.

    Attributes
    ----------
    records : int64
        Records in doubt, and records of entries that lack a downstream.
    own, below, callers : Votes
        Votes by place: the downstreams of its records, the upstreams of the records directly
        below it, and the upstreams of its records.
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
        members = np.flatnonzero(doubtful[trace])
        up, down = self.names.upstream, self.names.downstream
        called = members[self.calls_on[members] & (down[members] >= 0)]
        calling = members[up[members] >= 0]
        inner = calling[self.above[calling] >= 0]
        self.own = votes(called, self.key(self.place[called], down[called]))
        self.below = votes(inner, self.key(self.above[inner], up[inner]))
        self.callers = votes(calling, self.key(self.place[calling], up[calling]))

    def key(self, place: IntArray, name: Int32Array | IntArray) -> IntArray:
        """Place and name as one number."""
        return place * self.size + name

    def explained(self, place: IntArray, name: IntArray) -> BoolArray:
        """Whether a service called the place, or a call above the place reached the service."""
        is_explained = self.callers.of(self.key(place, name)) > 0
        at = self.places.parent[place]
        while (at >= 0).any():
            is_explained |= (at >= 0) & (self.own.of(self.key(at, name)) > 0)
            at = np.where(at >= 0, self.places.parent[at], -1)
        return is_explained

    def only_name(self, place: IntArray) -> IntArray:
        """The downstream that the records of each place give; -1 for none or several."""
        low = np.searchsorted(self.own.keys, place * self.size)
        high = np.searchsorted(self.own.keys, (place + 1) * self.size)
        one = np.flatnonzero(high - low == 1)
        only = np.full(len(place), -1, dtype=np.int64)
        only[one] = self.own.keys[low[one]] - place[one] * self.size
        return only


def _turn_round(doubts: _Doubts, ledger: Ledger) -> bool:
    """Exchange the ends of records that name them the wrong way round.

    The downstream of such a record is the service of the place above. An entry has no place above:
    its record lacks the downstream, and the calls below name its upstream as theirs.
    """
    which, names = doubts.records, doubts.names
    up, down = names.upstream[which].astype(np.int64), names.downstream[which].astype(np.int64)
    above = doubts.above[which]
    upper = np.maximum(above, 0)
    inner = (above >= 0) & (down >= 0) & (doubts.own.of(doubts.key(upper, down)) > 0)
    inner &= doubts.own.of(doubts.key(upper, up)) == 0
    inner &= doubts.below.of(doubts.key(upper, up)) == 1
    at = np.flatnonzero(inner)
    inner[at] = ~doubts.explained(upper[at], up[at])
    entry = doubts.places.entry[doubts.place[which]] & (down < 0)
    entry &= doubts.below.of(doubts.key(doubts.place[which], up)) > 0
    turned = which[inner | entry]
    names.upstream[turned], names.downstream[turned] = (
        names.downstream[turned],
        names.upstream[turned],
    )
    return _note(doubts, ledger, "swapped_ends", "turned round", turned)


def _downstream(doubts: _Doubts, ledger: Ledger) -> bool:
    """Replace a downstream that only one record gives, where the calls below agree on another."""
    places = np.unique(doubts.above[doubts.records])
    places = places[places >= 0]
    alone = doubts.only_name(places)
    places, alone = places[alone >= 0], alone[alone >= 0]
    own = find(doubts.own.keys, doubts.key(places, alone))
    lone = doubts.own.count[own] == 1
    lone &= doubts.below.of(doubts.key(places, alone)) == 0
    places, own = places[lone], own[lone]
    winner = _most_below(doubts, places)
    won = np.flatnonzero(winner >= 0)
    won = won[~doubts.explained(places[won], winner[won])]
    changed = doubts.own.first[own[won]]
    doubts.names.downstream[changed] = winner[won]
    return _note(doubts, ledger, "outvoted_downstream", "named by calls below", changed)


def _most_below(doubts: _Doubts, places: IntArray) -> IntArray:
    """The upstream that most records below each place give; -1 if too few give it."""
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
    """Replace an upstream that only one record gives and that no call of its trace reached."""
    which = doubts.records[doubts.above[doubts.records] >= 0]
    up, above = doubts.names.upstream[which].astype(np.int64), doubts.above[which]
    caller = doubts.only_name(above)
    outvoted = np.flatnonzero((caller >= 0) & (doubts.below.of(doubts.key(above, up)) == 1))
    key = doubts.key(above[outvoted], caller[outvoted])
    outvoted = outvoted[doubts.own.of(key) + doubts.below.of(key) >= ENOUGH]
    outvoted = outvoted[~doubts.explained(above[outvoted], up[outvoted])]
    outvoted = outvoted[~_reached(doubts, which[outvoted], up[outvoted])]
    doubts.names.upstream[which[outvoted]] = caller[outvoted]
    return _note(doubts, ledger, "outvoted_upstream", "named by parent", which[outvoted])


def _reached(doubts: _Doubts, which: IntArray, name: IntArray) -> BoolArray:
    """Whether some call of the record's trace reaches the service."""
    place, named = np.divmod(doubts.own.keys, doubts.size)
    keys = np.unique(doubts.places.trace[place] * doubts.size + named)
    reached: BoolArray = find(keys, doubts.of.trace[which] * doubts.size + name) >= 0
    return reached


def _note(doubts: _Doubts, ledger: Ledger, defect: Defect, action: Action, which: IntArray) -> bool:
    """Note a change of records in the ledger; returns whether a record changed."""
    ledger.note(defect, action, doubts.of.trace[which])
    return len(which) > 0
