"""Names that one record lacks and another has: the twin, the parent, or the calls below.

A known name changes if the rest of the trace outvotes it (``weigh``), or if the two records of one
call differ. If they differ in the downstream, the upstream of the calls below counts. Without it
the name of the called end counts, because each end knows itself best, and in this trace the calling
end then names its proxy. If they differ in the upstream, the service of the place above counts,
else the name of the calling end.
"""

import numpy as np

from tracekit.analysis.callgraph.ledger import Action, Defect, Ledger
from tracekit.analysis.callgraph.places import Places
from tracekit.analysis.callgraph.records import (
    SEVERAL,
    UNKNOWN,
    Names,
    Records,
    agreed,
    as_recorded,
    at_or,
    distinct,
    find,
    most,
)
from tracekit.analysis.callgraph.weigh import weigh
from tracekit.base.arrays import BoolArray, Int32Array, IntArray


def note_missing(records: Records, places: Places, names: Names, ledger: Ledger) -> None:
    """Count in the ledger the records that lack an upstream or a downstream."""
    entry = places.entry[places.of_record]
    nameless = names.upstream < 0
    ledger.note("missing_upstream", "outside the trace", records.trace[nameless & entry])
    ledger.note("missing_upstream", "kept", records.trace[nameless & ~entry])
    ledger.note("missing_downstream", "kept", records.trace[names.downstream < 0])


def mend(records: Records, places: Places, ledger: Ledger) -> Names:
    """Return the names of records, corrected and filled in; count each change in the ledger.

    1. Names that other records outvote are changed (``weigh``).
    2. A missing upstream comes from records with the same rpc id, if these agree.
    3. The two records of one call get the same names; the module tells which record decides.
    4. A missing downstream comes from records of equal rpc id, type and interface, if these agree.
    5. A downstream that a remote call still lacks is the upstream that most calls below it name.
    6. A missing upstream is the downstream of the call above, if its records name only one.
    7. If they name none, the upstream is the one that most calls below the call above name.
    """
    names = as_recorded(records)
    weigh(records, places, names, ledger)
    mender = _Mender(records, places, names, ledger)
    mender.upstream_by_same_rpc_id()
    mender.twins()
    mender.downstream_by_same_interface()
    mender.downstream_by_calls_below()
    mender.upstream_by_parent()
    note_missing(records, places, names, ledger)
    return names


#: More than there are names: place and name as one number.
_NAMES = 2**31


class _Mender:
    """Fills in the missing names of ``names``, in place."""

    def __init__(self, records: Records, places: Places, names: Names, ledger: Ledger) -> None:
        self._records, self._names, self._ledger = records, names, ledger
        self._places = len(places)
        self._place = places.of_record
        self._parent = places.parent[self._place]
        self._remote = records.remote[records.kind]

    def upstream_by_same_rpc_id(self) -> None:
        name = agreed(self._names.upstream, self._place, self._places)
        self._fill("missing_upstream", "named by twin", at_or(name, self._place, UNKNOWN))

    def twins(self) -> None:
        """Give both ends of each call common names; the end that knows a name best decides."""
        names = self._names
        calling, called = _twins(self._records, self._place, names)
        upstream = _share(names.upstream, *self._ends_by_upstream(calling, called))
        downstream = _share(names.downstream, *self._ends_by_downstream(calling, called))
        _share(names.interface, called, calling)
        self._note("missing_upstream", "named by twin", upstream)
        self._note("missing_downstream", "named by twin", downstream)

    def _ends_by_upstream(self, calling: IntArray, called: IntArray) -> tuple[IntArray, IntArray]:
        """The ends whose upstream counts first, and the other ends.

        The calling ends are first, unless the place above has the name of the called end.
        """
        above, up = self._parent[calling], self._names.upstream
        apart = np.flatnonzero((up[calling] != up[called]) & (above >= 0))
        calls_on = ~self._records.store[self._records.kind]
        reached = self._given(
            self._names.downstream, np.where(calls_on, self._place, -1), above[apart]
        )
        own, other = (above[apart] * _NAMES + up[end[apart]] for end in (calling, called))
        has_name = up[called[apart]] >= 0
        return _turned(apart[has_name & _only(reached, other, own)], calling, called)

    def _ends_by_downstream(self, calling: IntArray, called: IntArray) -> tuple[IntArray, IntArray]:
        """The ends whose downstream counts first, and the other ends.

        The called ends are first, unless the calls below give the name of the calling end.
        """
        place, down = self._place[calling], self._names.downstream
        apart = np.flatnonzero(down[calling] != down[called])
        below = self._given(self._names.upstream, self._parent, place[apart])
        own, other = (place[apart] * _NAMES + down[end[apart]] for end in (called, calling))
        has_name = down[calling[apart]] >= 0
        return _turned(apart[has_name & _only(below, other, own)], called, calling)

    def _given(self, names: Int32Array, place: IntArray, wanted: IntArray) -> IntArray:
        """Keys of place and name, sorted, of the names that records give to the wanted places."""
        is_wanted = np.zeros(self._places + 1, dtype=np.bool_)
        is_wanted[wanted] = True
        is_wanted[-1] = False
        given = np.flatnonzero(is_wanted[place] & (names >= 0))
        return distinct(place[given] * _NAMES + names[given])

    def downstream_by_same_interface(self) -> None:
        """Take a downstream from records of the same rpc id, type and interface."""
        records, names = self._records, self._names
        # records are sorted by place and type, so a family's records are neighbours
        fresh = np.ones(len(self._place), dtype=np.bool_)
        fresh[1:] = np.diff(self._place) + np.abs(np.diff(records.kind)) > 0
        family = np.cumsum(fresh) - 1
        wanting = np.zeros(len(fresh), dtype=np.bool_)
        wanting[family[self._remote & (names.downstream < 0)]] = True
        members = np.flatnonzero(wanting[family])
        interface = names.interface[members].astype(np.int64) + 1
        alike = family[members] * (interface.max(initial=0) + 1) + interface
        groups = distinct(alike)
        group = np.searchsorted(groups, alike)
        values = np.full(len(fresh), UNKNOWN, dtype=np.int32)
        values[members] = agreed(names.downstream[members], group, len(groups))[group]
        self._fill("missing_downstream", "named by twin", values)

    def downstream_by_calls_below(self) -> None:
        names = self._names
        callers = most(names.upstream, self._parent, self._places)
        caller = callers[self._place]
        is_called = np.zeros(self._places, dtype=np.bool_)
        is_called[self._place[names.downstream == caller]] = True
        usable = self._remote & (caller >= 0) & ~is_called[self._place]
        self._fill("missing_downstream", "named by calls below", np.where(usable, caller, UNKNOWN))

    def upstream_by_parent(self) -> None:
        names = self._names
        calls_on = ~self._records.store[self._records.kind]
        called = agreed(names.downstream, np.where(calls_on, self._place, -1), self._places)
        self._fill("missing_upstream", "named by parent", at_or(called, self._parent, UNKNOWN))
        # several downstreams above: any of them may be the caller, so siblings tell nothing
        sibling = most(names.upstream, self._parent, self._places)
        sibling = np.where(called == SEVERAL, UNKNOWN, sibling).astype(np.int32)
        self._fill("missing_upstream", "named by siblings", at_or(sibling, self._parent, UNKNOWN))

    def _fill(self, defect: Defect, action: Action, values: Int32Array) -> None:
        """Fill missing names from ``values``, shape (records,), where a value is known."""
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


def _only(given: IntArray, one: IntArray, other: IntArray) -> BoolArray:
    """Whether one key is among the given keys and another key is not."""
    only: BoolArray = (find(given, one) >= 0) & (find(given, other) < 0)
    return only


def _turned(which: IntArray, first: IntArray, second: IntArray) -> tuple[IntArray, IntArray]:
    """The pairs, with first and second exchanged in some of them."""
    ahead, behind = first.copy(), second.copy()
    ahead[which], behind[which] = second[which], first[which]
    return ahead, behind


def _twins(records: Records, place: IntArray, names: Names) -> tuple[IntArray, IntArray]:
    """Records that are the two ends of one call: the calling ends, and the called ends.

    They are the only two of their rpc id and remote type, not of the same end, and agree on one of
    the two names. If they name different upstreams or downstreams, it must be clear who recorded
    which, and the called end must not have worked for longer than the calling end waited.
    """
    kind, side = records.kind, records.side
    first, second = pairs(place, kind)
    apart = (side[first] >= 0) & (side[second] <= 0)
    same_caller = _compatible(names.upstream[first], names.upstream[second])
    same_callee = _compatible(names.downstream[first], names.downstream[second])
    clear = (side[first] != side[second]) & (
        records.duration_ms[second] <= records.duration_ms[first]
    )
    callee = names.downstream[first]
    named = (callee >= 0) & (callee == names.downstream[second])
    alike = (same_caller & (same_callee | clear)) | (named & clear)
    twins = records.remote[kind[first]] & apart & alike
    return first[twins], second[twins]


def pairs(place: IntArray, kind: Int32Array) -> tuple[IntArray, IntArray]:
    """Return two arrays with the first and the second record of each pair.

    A pair is a place and type with exactly two records. Records must be sorted by place and type.
    """
    fresh = np.ones(len(place) + 1, dtype=np.bool_)
    fresh[1:-1] = (place[1:] != place[:-1]) | (kind[1:] != kind[:-1])
    starts = np.flatnonzero(fresh)
    first = starts[:-1][np.diff(starts) == 2]
    return first, first + 1


def _compatible(one: Int32Array, other: Int32Array) -> BoolArray:
    compatible: BoolArray = (one == other) | (one < 0) | (other < 0)
    return compatible
