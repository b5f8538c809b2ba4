"""Records that stand under the rpc id of another call, put back under their own.

An rpc id can be wrong in one record alone: a digit, a level too few or too many. Two kinds of
evidence tell. The other end of the call stands alone under another rpc id of the trace: both go
where the call above reaches their caller, where calls below name their callee, where no other call
is, in this order; of two places beside each other that are alike in this, to the lower number.
Or a record has no business where it is, and one number is missing among the calls that its caller
made: calls are numbered one after the other.

What many traces have is left alone: two calls that share one rpc id without a gap beside them (the
caller did not pass on its context), calls made again, calls whose other end is lost.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import polars as pl

from tracekit.analysis.callgraph.ledger import Action, Ledger
from tracekit.analysis.callgraph.mend import pairs
from tracekit.analysis.callgraph.parts import UNKNOWN, distinct, find
from tracekit.analysis.callgraph.places import Places, locate
from tracekit.analysis.callgraph.records import Records, moved
from tracekit.analysis.callgraph.weigh import Votes, votes
from tracekit.base.arrays import BoolArray, Int32Array, IntArray


class Near:
    """What is said at the places of some records, just above and just below.

    Names are counted from 1 in the keys of votes, 0 is unknown.
    """

    def __init__(self, which: IntArray, records: Records, places: Places) -> None:
        self.of, self.places = records, places
        own = distinct(places.of_record[which])
        above = places.parent[own]
        wanted = np.concatenate([own, above, places.parent[above[above >= 0]]])
        self.near = records_at(places, distinct(wanted[wanted >= 0]))
        self.place = places.of_record[self.near]
        self.size = int(max(records.upstream.max(initial=0), records.downstream.max(initial=0))) + 2
        self.records = np.bincount(self.place, minlength=len(places))

    def key(self, place: IntArray, name: Int32Array) -> IntArray:
        """Place and name as one number."""
        found: IntArray = place * self.size + name + 1
        return found

    @cached_property
    def own(self) -> Votes:
        """Of downstreams for a record's place, by records of calls that can call on."""
        makers = ~self.of.store[self.of.kind[self.near]]
        near = self.near[makers]
        return votes(near, self.key(self.place[makers], self.of.downstream[near]))

    @cached_property
    def callees(self) -> Votes:
        """Of downstreams for a record's place."""
        return votes(self.near, self.key(self.place, self.of.downstream[self.near]))

    @cached_property
    def callers(self) -> Votes:
        """Of upstreams for a record's place."""
        return votes(self.near, self.key(self.place, self.of.upstream[self.near]))

    @cached_property
    def below(self) -> Votes:
        """Of upstreams for the place above."""
        there = np.zeros(len(self.places) + 1, dtype=np.bool_)
        there[self.place] = True
        near = records_at(self.places, np.flatnonzero(there[self.places.parent]))
        above = self.places.parent[self.places.of_record[near]]
        return votes(near, self.key(above, self.of.upstream[near]))

    def reached(self, place: IntArray, name: Int32Array) -> BoolArray:
        """Whether a call at a place that can call on reaches a service."""
        found: BoolArray = self.own.of(self.key(np.maximum(place, 0), name)) > 0
        return found & (place >= 0)

    def one_too_many(self, which: IntArray) -> BoolArray:
        """Whether most of the records like it are of its end, so that it lacks the other."""
        families, ends = self._families
        family = self._family(which)
        lacking: BoolArray = 2 * ends.of(family * 3 + self.of.side[which]) > families.of(family)
        return lacking | ~self.of.twice[self.of.kind[which]]

    @cached_property
    def _families(self) -> tuple[Votes, Votes]:
        """Of records of one place, type and upstream; of their ends."""
        family = self._family(self.near)
        return votes(self.near, family), votes(self.near, family * 3 + self.of.side[self.near])

    def _family(self, which: IntArray) -> IntArray:
        place = self.places.of_record[which] * (len(self.of.types) + 1) + self.of.kind[which]
        return self.key(place, self.of.upstream[which])


def records_at(places: Places, wanted: IntArray) -> IntArray:
    """The records of some places; records are sorted by their places."""
    low = np.searchsorted(places.of_record, wanted)
    count = np.searchsorted(places.of_record, wanted, side="right") - low
    first = np.repeat(low - np.cumsum(count) + count, count)
    found: IntArray = first + np.arange(len(first))
    return found


#: Clocks of machines in one cluster differ by less, in milliseconds.
CLOCKS_APART_MS = 20
#: The calling end waits longer than the called end works by less, in most calls.
NETWORK_MS = 3
#: The last number of a path by which calls are counted: from 1; message queues give longer ones.
NUMBER = r"(?:^|\.)([1-9][0-9]{0,3})$"
#: More than such a number: place and number as one.
_NUMBERS = 10**4
#: Which records have another rpc id, and that.
Homes = tuple[IntArray, pl.Series]


def put_back(records: Records, places: Places, ledger: Ledger) -> tuple[Records, Places]:
    """The records with the rpc ids that they should have, each change noted in the ledger."""
    for action, step in _STEPS:
        which, homes = step(records, places)
        if len(which):
            ledger.note("shifted_rpc_id", action, records.trace[which])
            records = moved(records, which, homes)
            places = locate(records)
    return records, places


def _named(records: Records, which: IntArray) -> IntArray:
    """Those of the records that name two services."""
    up, down = records.upstream[which], records.downstream[which]
    named: IntArray = which[(up >= 0) & (down >= 0) & (up != down)]
    return named


def _to_twins(records: Records, places: Places) -> Homes:
    calling, called = _ends_apart(records, places)
    near = Near(np.concatenate([calling, called]), records, places)
    waited, worked = records.duration_ms[calling], records.duration_ms[called]
    later_ms = records.time_ms[called] - records.time_ms[calling]
    ahead = _fit(near, calling) - _fit(near, called)
    # where either place would do, only the time tells calls made again and again apart
    inside = (later_ms >= 0) & (later_ms <= waited - worked)
    strange = _stranger(near, calling) != _stranger(near, called)
    fits = inside | (strange & (np.abs(later_ms) <= waited + CLOCKS_APART_MS))
    fits &= (worked <= waited) & (waited - worked <= NETWORK_MS)
    fits &= near.one_too_many(calling) & near.one_too_many(called)
    above = records.paths.parent
    beside = above[records.path[calling]] == above[records.path[called]]
    one, other = (_number(places, records, places.of_record[end]) for end in (calling, called))
    ahead = np.where(ahead == 0, (other - one) * (beside & (one > 0) & (other > 0)), ahead)
    told = fits & (ahead != 0)
    goes, stays = np.where(ahead > 0, called, calling), np.where(ahead > 0, calling, called)
    return goes[told], records.paths.text.gather(records.path[stays[told]])


def _stranger(near: Near, which: IntArray) -> BoolArray:
    """Whether the call above is known and reaches others, or another call has the rpc id."""
    place = near.places.of_record[which]
    above = near.places.parent[place]
    named = near.records[np.maximum(above, 0)] - near.callees.of(near.key(above, _nobody(above)))
    other: BoolArray = (above >= 0) & (named > 0) & ~near.reached(above, near.of.upstream[which])
    return other | ((near.records[place] > 1) & ~_in_company(near, which))


def _nobody(place: IntArray) -> Int32Array:
    return np.full(len(place), UNKNOWN, dtype=np.int32)


def _ends_apart(records: Records, places: Places) -> tuple[IntArray, IntArray]:
    """The two ends of calls that have one record of each, under different rpc ids."""
    first, second = pairs(places.of_record, records.kind)
    whole = (records.side[first] > 0) & (records.side[second] < 0)
    whole &= records.upstream[first] == records.upstream[second]
    alone = records.twice[records.kind] & (records.side != 0)
    alone[first[whole]] = alone[second[whole]] = False
    calling, called = _only_two(records, _named(records, np.flatnonzero(alone)))
    # of the same names in the whole trace there must be no others, of which any may be the twin
    there = np.zeros(len(records.traces), dtype=np.bool_)
    there[records.trace[calling]] = True
    one, _ = _only_two(records, _named(records, np.flatnonzero(there[records.trace])))
    alike = find(np.sort(one), calling) >= 0
    return calling[alike], called[alike]


def _only_two(records: Records, which: IntArray) -> tuple[IntArray, IntArray]:
    """Of calls with two records in their trace, the calling end and the called end.

    They are of different rpc ids, and have the same type, names and interface.
    """
    up, down = records.upstream[which], records.downstream[which]
    size = int(max(up.max(initial=0), down.max(initial=0))) + 1
    call = records.trace[which] * (len(records.types) + 1) + records.kind[which]
    key = (call * size + up) * size + down
    order = np.argsort(key)
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    two = starts[np.diff(starts, append=len(order)) == 2]
    first, second = which[order[two]], which[order[two + 1]]
    calls = records.side[first] > 0
    calling, called = np.where(calls, first, second), np.where(calls, second, first)
    apart = (records.side[calling] > 0) & (records.side[called] < 0)
    apart &= records.interface[calling] == records.interface[called]
    apart &= records.path[calling] != records.path[called]
    return calling[apart], called[apart]


def _fit(near: Near, which: IntArray) -> IntArray:
    """How well a call fits where a record of it is: calls above and below, and no other there."""
    place, records = near.places.of_record[which], near.of
    caller = near.reached(near.places.parent[place], records.upstream[which])
    below = near.below.of(near.key(place, records.downstream[which])) > 0
    fit: IntArray = 2 * (caller.astype(np.int64) + below) + (near.records[place] == 1)
    return fit


def _to_gaps(records: Records, places: Places) -> Homes:
    place = places.of_record
    differs = (place[1:] == place[:-1]) & (records.downstream[1:] != records.downstream[:-1])
    which = _named(records, records_at(places, distinct(place[1:][differs])))
    near = Near(which, records, places)
    which = which[near.one_too_many(which)]
    which = which[~_in_company(near, which)]
    place, up = places.of_record[which], records.upstream[which]
    above = places.parent[place]
    fits = near.reached(above, up)
    maker = np.where(fits, above, np.where(near.reached(place, up), place, -1))
    number = _missing(near, maker)
    # of several beside the gap, the one that was made earlier goes to a lower number
    turn = np.sign(_number(places, records, place) - number) * fits
    time = turn * records.time_ms[which]
    chosen = np.flatnonzero(number > 0)
    chosen = chosen[_first(maker[chosen] * _NUMBERS + number[chosen], place[chosen], time[chosen])]
    home = records.paths.text.gather(places.path[maker[chosen]])
    return which[chosen], home + "." + pl.Series(number[chosen]).cast(pl.String)


def _up_a_level(records: Records, places: Places) -> Homes:
    """Records alone below a missing call that are likely to be of that call.

    No other call is below, and the record's number is not the first. Its caller is the service
    above the missing call, and makes no call to itself that the missing one could be.
    """
    gaps = np.flatnonzero(~places.recorded)
    # places are in the order of their paths, so that those below one come right after it
    parent = np.append(places.parent, (-1, -1))
    sole = (parent[gaps + 1] == gaps) & (parent[gaps + 2] != gaps) & (parent[gaps + 2] != gaps + 1)
    which = _named(records, records_at(places, gaps[sole] + 1))
    near = Near(which, records, places)
    place, up = places.of_record[which], records.upstream[which]
    above = places.parent[place]
    added = near.reached(places.parent[above], up) & (near.records[place] == 1)
    which, above = which[added], above[added]
    added = near.one_too_many(which) & (_number(places, records, places.of_record[which]) > 1)
    added &= ~_calls_itself(records, which)
    return which[added], records.paths.text.gather(places.path[above[added]])


def _calls_itself(records: Records, which: IntArray) -> BoolArray:
    """Whether the caller of a record makes a call to itself in the record's trace."""
    own = np.flatnonzero((records.upstream == records.downstream) & (records.upstream >= 0))
    size = int(records.upstream.max(initial=0)) + 1
    keys = distinct(records.trace[own] * size + records.upstream[own])
    found: BoolArray = find(keys, records.trace[which] * size + records.upstream[which]) >= 0
    return found


def _in_company(near: Near, which: IntArray) -> BoolArray:
    """Whether another record of the rpc id is, or may be, of the same call or of one it made."""
    place, down = near.places.of_record[which], near.of.downstream[which]
    same = near.callees.of(near.key(place, down)) > 1
    unknown = near.callees.of(near.key(place, _nobody(place))) > 0
    made = near.callers.of(near.key(place, down)) > 0
    company: BoolArray = same | unknown | made
    return company


def _missing(near: Near, makers: IntArray) -> IntArray:
    """The one number that is missing among the calls below each place; 0 for none."""
    places = near.places
    groups = distinct(makers[makers >= 0])
    group = find(groups, places.parent)
    children = np.flatnonzero(places.recorded & (group >= 0))
    number = _number(places, near.of, children)
    group, number = group[children[number > 0]], number[number > 0]
    highest = np.zeros(len(groups) + 1, dtype=np.int64)
    np.maximum.at(highest, group, number)
    count, total = (np.zeros(len(highest), dtype=np.int64) for _ in range(2))
    np.add.at(count, group, 1)
    np.add.at(total, group, number)
    missing = np.where(count == highest - 1, highest * (highest + 1) // 2 - total, 0)
    return missing[find(groups, makers)]


def _number(places: Places, records: Records, place: IntArray) -> IntArray:
    """The last numbers of the paths of places; 0 for those that calls are not counted by."""
    paths = records.paths.text.gather(places.path[place])
    number: IntArray = paths.str.extract(NUMBER).cast(pl.Int64).fill_null(0).to_numpy()
    return number


def _first(homes: IntArray, place: IntArray, time: IntArray) -> IntArray:
    """Those that have a home to themselves, or are the first of some of one place by their time."""
    if not len(homes):
        return homes
    order = np.lexsort((time, homes))
    starts = np.flatnonzero(np.diff(homes[order], prepend=-1))
    first, lasts = order[starts], order[np.append(starts, len(order))[1:] - 1]
    second = order[np.minimum(starts + 1, len(order) - 1)]
    alone = first == lasts
    low, high = (ufunc.reduceat(place[order], starts) for ufunc in (np.minimum, np.maximum))
    told: IntArray = first[alone | ((low == high) & (time[first] < time[second]))]
    return told


_STEPS: tuple[tuple[Action, Callable[[Records, Places], Homes]], ...] = (
    ("named by twin", _to_twins),
    ("put in a gap", _to_gaps),
    ("moved up", _up_a_level),
)
