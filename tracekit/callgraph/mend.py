"""Names that one record lacks and another has: the twin's, the parent's, those of calls below.

Only names are filled in; nothing that is known is changed but one thing. Each end of a remote call
knows itself best, so where the two records of one call name different downstreams, the called
end's name stands (in the trace, the calling end then names the proxy it called through).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.arrays import BoolArray, Int32Array, IntArray
from tracekit.callgraph.arrays import SEVERAL, UNKNOWN, agreed, at_or, distinct
from tracekit.callgraph.ledger import Action, Defect, Ledger
from tracekit.callgraph.places import Places
from tracekit.callgraph.records import Records


@dataclass(frozen=True, kw_only=True)
class Names:
    """The names of each record, mended or as they were; int32 of shape (records,)."""

    upstream: Int32Array
    downstream: Int32Array
    interface: Int32Array


def as_recorded(records: Records) -> Names:
    """The names of the records as they are, in arrays of their own."""
    return Names(
        upstream=records.upstream.copy(),
        downstream=records.downstream.copy(),
        interface=records.interface.copy(),
    )


def note_missing(records: Records, places: Places, names: Names, ledger: Ledger) -> None:
    """Note the names that are missing still."""
    entry = places.entry[places.of_record]
    nameless = names.upstream < 0
    ledger.note("missing_upstream", "outside the trace", records.trace[nameless & entry])
    ledger.note("missing_upstream", "kept", records.trace[nameless & ~entry])
    ledger.note("missing_downstream", "kept", records.trace[names.downstream < 0])


def mend(records: Records, places: Places, ledger: Ledger) -> Names:
    """Fill in the names that other records of the trace tell, and note each in the ledger.

    In this order: a missing upstream from the records with the same rpc id, if they agree; missing
    and doubtful names from a call's twin record; a missing downstream from records of the same rpc
    id, type and interface, if they agree; a missing downstream of a remote call from the upstreams
    of the calls below it, if they agree; a missing upstream from the downstream of the call above,
    if there is one only, else from the other calls below it, if they agree.
    """
    names = as_recorded(records)
    mender = _Mender(records, places, names, ledger)
    mender.upstream_by_same_rpc_id()
    mender.twins()
    mender.downstream_by_same_interface()
    mender.downstream_by_calls_below()
    mender.upstream_by_parent()
    note_missing(records, places, names, ledger)
    return names


class _Mender:
    """Fills in the missing names of ``names``, in place."""

    def __init__(self, records: Records, places: Places, names: Names, ledger: Ledger) -> None:
        self._records, self._names, self._ledger = records, names, ledger
        self._places = len(places)
        self._place = places.of_record
        self._parent = places.parent[self._place]
        self._remote = records.remote[records.kind]

    def upstream_by_same_rpc_id(self) -> None:
        found = agreed(self._names.upstream, self._place, self._places)
        self._fill("missing_upstream", "named by twin", at_or(found, self._place, UNKNOWN))

    def twins(self) -> None:
        """The two ends of a call take each other's names; the end that knows itself first."""
        names = self._names
        calling, called = _twins(self._records, self._place, names)
        upstream = _share(names.upstream, calling, called)
        downstream = _share(names.downstream, called, calling)
        _share(names.interface, called, calling)
        self._note("missing_upstream", "named by twin", upstream)
        self._note("missing_downstream", "named by twin", downstream)

    def downstream_by_same_interface(self) -> None:
        """Among the records of one rpc id and type, one interface is one service's."""
        records, names = self._records, self._names
        # records are sorted by place and type, so a family's records are neighbours
        fresh = np.ones(len(self._place), dtype=np.bool_)
        fresh[1:] = np.diff(self._place) + np.abs(np.diff(records.kind)) > 0
        family = np.cumsum(fresh) - 1
        wanting = np.zeros(len(fresh), dtype=np.bool_)
        wanting[family[self._remote & (names.downstream < 0)]] = True
        near = np.flatnonzero(wanting[family])
        interface = names.interface[near].astype(np.int64) + 1
        alike = family[near] * (interface.max(initial=0) + 1) + interface
        groups = distinct(alike)
        group = np.searchsorted(groups, alike)
        values = np.full(len(fresh), UNKNOWN, dtype=np.int32)
        values[near] = agreed(names.downstream[near], group, len(groups))[group]
        self._fill("missing_downstream", "named by twin", values)

    def downstream_by_calls_below(self) -> None:
        names = self._names
        callers = agreed(names.upstream, self._parent, self._places)
        caller = callers[self._place]
        there = np.zeros(self._places, dtype=np.bool_)
        there[self._place[names.downstream == caller]] = True
        usable = self._remote & (caller >= 0) & ~there[self._place]
        self._fill("missing_downstream", "named by calls below", np.where(usable, caller, UNKNOWN))

    def upstream_by_parent(self) -> None:
        names = self._names
        calls_on = ~self._records.store[self._records.kind]
        called = agreed(names.downstream, np.where(calls_on, self._place, -1), self._places)
        self._fill("missing_upstream", "named by parent", at_or(called, self._parent, UNKNOWN))
        # several downstreams above: any of them may be the caller, so siblings tell nothing
        sibling = agreed(names.upstream, self._parent, self._places)
        sibling = np.where(called == SEVERAL, UNKNOWN, sibling).astype(np.int32)
        self._fill("missing_upstream", "named by siblings", at_or(sibling, self._parent, UNKNOWN))

    def _fill(self, defect: Defect, action: Action, values: Int32Array) -> None:
        """Take the known among ``values``, shape (records,), where the name is missing."""
        names = self._names
        target = names.upstream if defect == "missing_upstream" else names.downstream
        mended = np.flatnonzero((target < 0) & (values >= 0))
        target[mended] = values[mended]
        self._note(defect, action, mended)

    def _note(self, defect: Defect, action: Action, which: IntArray) -> None:
        self._ledger.note(defect, action, self._records.trace[which])


def _share(values: Int32Array, first: IntArray, second: IntArray) -> IntArray:
    """Give both records of each pair the first's value, or the second's where that is missing.

    Changes ``values``; returns the records that had none and have one now.
    """
    taken = np.where(values[first] >= 0, values[first], values[second])
    both = np.concatenate([first, second])
    mended: IntArray = both[(values[both] < 0) & (np.tile(taken, 2) >= 0)]
    values[both] = np.tile(taken, 2)
    return mended


def _twins(records: Records, place: IntArray, names: Names) -> tuple[IntArray, IntArray]:
    """Records that are the two ends of one call: the calling ends, and the called ends.

    They are the only two of their rpc id and remote type, not of the same end, and agree on the
    upstream. If they name different downstreams, it must be clear who recorded which, and the
    called end must not have worked for longer than the calling end waited.
    """
    kind, side = records.kind, records.side
    first, second = _pairs(place, kind)
    apart = (side[first] >= 0) & (side[second] <= 0)
    same_caller = _compatible(names.upstream[first], names.upstream[second])
    same_callee = _compatible(names.downstream[first], names.downstream[second])
    clear = (side[first] != side[second]) & (
        records.duration_ms[second] <= records.duration_ms[first]
    )
    twins = records.remote[kind[first]] & apart & same_caller & (same_callee | clear)
    return first[twins], second[twins]


def _pairs(place: IntArray, kind: Int32Array) -> tuple[IntArray, IntArray]:
    """Neighbours that are alone together at their place with their type."""
    fresh = np.ones(len(place) + 1, dtype=np.bool_)
    fresh[1:-1] = (place[1:] != place[:-1]) | (kind[1:] != kind[:-1])
    starts = np.flatnonzero(fresh)
    first = starts[:-1][np.diff(starts) == 2]
    return first, first + 1


def _compatible(one: Int32Array, other: Int32Array) -> BoolArray:
    compatible: BoolArray = (one == other) | (one < 0) | (other < 0)
    return compatible
