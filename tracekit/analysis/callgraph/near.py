"""What the records say at some places, just above and just below."""

from functools import cached_property

import numpy as np

from tracekit.analysis.callgraph.arrays import distinct
from tracekit.analysis.callgraph.places import Places
from tracekit.analysis.callgraph.records import Records
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
