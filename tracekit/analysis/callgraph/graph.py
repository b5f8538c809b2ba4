"""The call graphs of some whole traces, rebuilt: records in, calls with their parents out."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.analysis.callgraph import MODE, Mode, mend
from tracekit.analysis.callgraph.calls import Calls, as_documented, as_named, inserted, together
from tracekit.analysis.callgraph.ledger import Defect, Ledger
from tracekit.analysis.callgraph.places import Places, locate
from tracekit.analysis.callgraph.records import (
    SEVERAL,
    UNKNOWN,
    Records,
    agreed,
    arrange,
    as_recorded,
    at_or,
    distinct,
    find,
)
from tracekit.base.arrays import BoolArray, Int32Array, IntArray

# The trees: which call every call was made by.


@dataclass(frozen=True, kw_only=True)
class Tree:
    """The call that made each call; arrays of shape (calls,).

    Parameters
    ----------
    parent : int64
        The position of the call that made this call, -1 for none.
    depth : int32
        The number of calls above the call in its tree.
    contradicts : bool
        Whether the call names another upstream than the service that its parent called.
    """

    parent: IntArray
    depth: Int32Array
    contradicts: BoolArray


def by_path(calls: Calls, places: Places, ledger: Ledger) -> Tree:
    """Return the tree that rpc ids alone give: the parent of call ``0.1.2`` is call ``0.1``.

    A call whose parent is not recorded has no parent. ``calls`` has one call per recorded place.
    Every call is in the tree; the ledger counts the calls whose upstream contradicts their parent.
    """
    above = places.parent[calls.place]
    parent = np.where(above >= 0, find(calls.place, above), -1)
    trace = places.trace[calls.place]
    callee = at_or(calls.downstream, parent, UNKNOWN)
    contradicts = (calls.upstream >= 0) & (callee >= 0) & (calls.upstream != callee)
    tree = Tree(parent=parent, depth=_depth(parent), contradicts=contradicts)
    ledger.note("contradicts_parent", "kept", trace[contradicts])
    ledger.note("orphan", "kept", trace[~_below_first(tree, calls, places)])
    return tree


def _below_first(tree: Tree, calls: Calls, places: Places) -> BoolArray:
    """Whether each call is in the first tree of its trace: the highest top, then the first one."""
    top = np.arange(len(calls))
    for _ in range(int(tree.depth.max(initial=0))):
        top = np.where(tree.parent[top] >= 0, tree.parent[top], top)
    trace = places.trace[calls.place]
    tops = distinct(top)
    order = np.lexsort((tops, places.depth[calls.place[tops]], trace[tops]))
    traces, at = np.unique(trace[tops[order]], return_index=True)
    first = tops[order][at]
    below: BoolArray = top == first[np.searchsorted(traces, trace)]
    return below


def _depth(parent: IntArray) -> Int32Array:
    """The number of calls above each call; parents stand before their children."""
    depth = np.zeros(len(parent), dtype=np.int32)
    at = parent
    while (at >= 0).any():
        depth += at >= 0
        at = np.where(at >= 0, parent[np.maximum(at, 0)], -1)
    return depth


def by_name(calls: Calls, calls_on: BoolArray, places: Places, ledger: Ledger) -> Tree:
    """Return the tree in which a call's parent fits both its rpc id and its upstream.

    Let s be the upstream of a call; a missing s fits every service. The parent is the first of
    these:

    1. the first call with the rpc id above (``0.1`` for ``0.1.2``) whose downstream is s, or else
       is missing;
    2. a call with the same rpc id whose downstream is s, because a service may give the calls that
       it makes its own rpc id;
    3. the nearest call further above whose downstream is s, because a service may number the calls
       that it makes as if a call beside them had made them;
    4. the nearest call above by rpc id; the call is then marked as ``contradicts``.

    Every call is in the tree. A call with nothing above it has no parent.

    Parameters
    ----------
    calls_on : bool, shape (calls,)
        Whether a call can make others; a call to a data store cannot.
    """
    grower = _Grower(calls, calls_on, places, ledger)
    for level in range(int(places.depth.max(initial=-1)) + 1):
        grower.grow(level)
    return Tree(parent=grower.parent, depth=grower.depth, contradicts=grower.contradicts)


@dataclass(frozen=True)
class _Level:
    """Kept calls of one level of paths that can make others.

    Parameters
    ----------
    places, first : int64
        The places of calls that can make others, sorted, and the first such call at each.
    differ : bool
        Whether the calls of each of these places reach different services.
    named, keys : int64
        The calls in the order of their keys, which are made of place and downstream.
    """

    places: IntArray
    first: IntArray
    differ: BoolArray
    named: IntArray
    keys: IntArray


class _Grower:
    def __init__(self, calls: Calls, calls_on: BoolArray, places: Places, ledger: Ledger) -> None:
        self._calls, self._places, self._ledger = calls, places, ledger
        self._calls_on = calls_on
        self._trace = places.trace[calls.place]
        self._level = places.depth[calls.place]
        self._names = int(max(calls.downstream.max(initial=0), calls.upstream.max(initial=0))) + 2
        self._grown: list[_Level] = []
        self.parent = np.full(len(calls), -1, dtype=np.int64)
        self.placed = np.zeros(len(calls), dtype=np.bool_)
        self.depth = np.zeros(len(calls), dtype=np.int32)
        self.contradicts = np.zeros(len(calls), dtype=np.bool_)

    def grow(self, level: int) -> None:
        here = np.flatnonzero(self._level == level)
        place = self._calls.place[here]
        entry = self._places.entry[place]
        self.placed[here[entry]] = True
        rest, above = here[~entry], self._places.parent[place[~entry]]
        if len(rest):
            self._hang(rest, above, here)
        self._grown.append(self._index(here[self.placed[here]]))

    def _index(self, placed: IntArray) -> _Level:
        makers = placed[self._calls_on[placed]]
        place, reached = self._calls.place[makers], self._calls.downstream[makers]
        keys = place * self._names + reached + 1
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        lasts = np.append(starts, len(place))[1:] - 1
        sorted_keys = keys[order]
        return _Level(
            places=place[starts],
            first=makers[starts],
            differ=sorted_keys[starts] != sorted_keys[lasts],
            named=makers[order],
            keys=sorted_keys,
        )

    def _hang(self, which: IntArray, above: IntArray, here: IntArray) -> None:
        level = self._grown[-1]
        maker, several = self._matching(which, above, level)
        self._ledger.note("ambiguous_parent", "first taken", self._trace[which[several]])
        self._attach(which[maker >= 0], maker[maker >= 0])
        lost, above = which[maker < 0], above[maker < 0]
        lost, above = self._beside(lost, above, here)
        lost, above = self._up(lost, above)
        self._stay(lost, above)

    def _matching(
        self, which: IntArray, above: IntArray, level: _Level
    ) -> tuple[IntArray, BoolArray]:
        """The call above that made each call, -1 for none, and whether several calls match."""
        upstream = self._calls.upstream[which]
        maker, several = self._named(above, upstream, level)
        unnamed, _ = self._named(above, np.full_like(upstream, -1), level)
        maker = np.where((maker < 0) & (upstream >= 0), unnamed, maker)
        first, differ = self._first(above, level)
        return np.where(upstream >= 0, maker, first), np.where(upstream >= 0, several, differ)

    def _named(
        self, above: IntArray, downstream: Int32Array, level: _Level
    ) -> tuple[IntArray, BoolArray]:
        """The first kept call at a place that reaches a service, and whether more do."""
        wanted = above * self._names + downstream + 1
        at = find(level.keys, wanted)
        more = np.searchsorted(level.keys, wanted, side="right") - at > 1
        return np.where(at >= 0, _at(level.named, at), -1), more & (at >= 0)

    def _first(self, above: IntArray, level: _Level) -> tuple[IntArray, BoolArray]:
        """The first kept call at a place, -1 for none, and whether they reach several services."""
        at = find(level.places, above)
        return np.where(at >= 0, _at(level.first, at), -1), (at >= 0) & (_at(level.differ, at) > 0)

    def _beside(
        self, which: IntArray, above: IntArray, here: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Hang calls below a call of the same rpc id that can have made them; return the others."""
        while len(which):
            place, upstream = self._calls.place[which], self._calls.upstream[which]
            maker, _ = self._named(place, upstream, self._index(here[self.placed[here]]))
            fits = (maker >= 0) & (upstream >= 0)
            if not fits.any():
                break
            self._attach(which[fits], maker[fits])
            self._ledger.note("contradicts_parent", "moved beside", self._trace[which[fits]])
            which, above = which[~fits], above[~fits]
        return which, above

    def _up(self, which: IntArray, above: IntArray) -> tuple[IntArray, IntArray]:
        """Hang calls below a call further above that can have made them; return the others."""
        higher = above
        for level in reversed(self._grown[:-1]):
            if not len(which):
                break
            higher = np.where(higher >= 0, self._places.parent[higher], -1)
            upstream = self._calls.upstream[which]
            named, _ = self._named(higher, upstream, level)
            first, _ = self._first(higher, level)
            maker = np.where(upstream >= 0, named, first)
            fits = maker >= 0
            self._attach(which[fits], maker[fits])
            self._ledger.note("contradicts_parent", "moved up", self._trace[which[fits]])
            which, above, higher = which[~fits], above[~fits], higher[~fits]
        return which, above

    def _stay(self, which: IntArray, above: IntArray) -> None:
        """Hang calls where their paths say, below the nearest call that makes others."""
        for level in reversed(self._grown):
            if not len(which):
                break
            maker, _ = self._first(above, level)
            fits = maker >= 0
            hung = which[fits]
            self._attach(hung, maker[fits])
            self.contradicts[hung] = True
            self._ledger.note("contradicts_parent", "kept", self._trace[hung])
            which, above = which[~fits], above[~fits]
            above = np.where(above >= 0, self._places.parent[above], -1)
        self.placed[which] = True
        self._ledger.note("orphan", "kept", self._trace[which])

    def _attach(self, which: IntArray, parent: IntArray) -> None:
        self.parent[which] = parent
        self.placed[which] = True
        self.depth[which] = self.depth[parent] + 1


def _at(values: IntArray | BoolArray, index: IntArray) -> IntArray:
    """``values[index]``, anything where the index is negative."""
    if not len(values):
        return np.full(len(index), -1, dtype=np.int64)
    return np.asarray(values[np.maximum(index, 0)], dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Graph:
    """The call graphs of some complete traces, made by ``rebuild``; a trace has 1 or more trees."""

    mode: Mode
    records: Records
    places: Places
    calls: Calls
    tree: Tree
    ledger: Ledger

    @property
    def trace(self) -> IntArray:
        """The trace of each call, as a position in ``records.traces``."""
        return self.places.trace[self.calls.place]


def rebuild(rows: pl.DataFrame, *, mode: Mode = MODE) -> Graph:
    """Rebuild the call graphs of complete traces.

    Parameters
    ----------
    rows : the columns of ``call_keyed`` and ``part`` (the number of the file), in any order
    mode : ``naive`` makes one call of each rpc id, whose parent is the call of the rpc id above;
        ``repair`` corrects names and parents by comparing records
    """
    records = arrange(rows)
    places = locate(records)
    ledger = Ledger(len(records.traces))

    _note_records(records, places, ledger, mode)
    if mode == "naive":
        return _naive(records, places, ledger)
    names = mend.mend(records, places, ledger)
    calls = as_named(records, places, names)
    _note_calls(calls, places, ledger, mode)
    calls = together(calls, inserted(records, places, names))
    tree = by_name(calls, ~records.store[calls.kind], places, ledger)
    _note_settled(records, places, ledger, calls)
    _note_incomplete(records, ledger)
    return Graph(mode=mode, records=records, places=places, calls=calls, tree=tree, ledger=ledger)


def _naive(records: Records, places: Places, ledger: Ledger) -> Graph:
    names = as_recorded(records)
    mend.note_missing(records, places, names, ledger)
    # only mended names show what an rpc id stands for, although the calls do not use them
    mended_calls = as_named(
        records, places, mend.mend(records, places, Ledger(len(records.traces)))
    )
    _note_calls(mended_calls, places, ledger, "naive")
    for defect, values in _names_of_records(records):
        several = agreed(values, places.of_record, len(places)) == SEVERAL
        ledger.note(defect, "first taken", places.trace[several])
    calls = as_documented(records, places, names)
    tree = by_path(calls, places, ledger)
    _note_incomplete(records, ledger)
    return Graph(
        mode="naive", records=records, places=places, calls=calls, tree=tree, ledger=ledger
    )


def _note_records(records: Records, places: Places, ledger: Ledger, mode: Mode) -> None:
    every = np.arange(len(records.traces))
    ledger.note("duplicate_record", "merged", every, records.repeated)
    ledger.note("rpc_id_not_a_path", "left out", every, records.not_a_path)
    gaps = places.trace[~places.recorded]
    ledger.note("missing_call", "inserted" if mode == "repair" else "kept", gaps)
    entries = np.bincount(places.trace[places.entry], minlength=len(every))
    ledger.note("several_entries", "kept", every, np.maximum(entries - 1, 0))


def _note_calls(calls: Calls, places: Places, ledger: Ledger, mode: Mode) -> None:
    trace = places.trace[calls.place]
    ledger.note("missing_twin", "kept", trace, calls.missing_twins)
    number = np.bincount(calls.place, weights=calls.repeats, minlength=len(places))
    extra = np.maximum(number.astype(np.int64) - 1, 0)
    ledger.note(
        "reused_rpc_id", "kept apart" if mode == "repair" else "merged", places.trace, extra
    )


def _names_of_records(records: Records) -> tuple[tuple[Defect, Int32Array], ...]:
    return (
        ("several_upstreams", records.upstream),
        ("several_downstreams", records.downstream),
    )


def _note_settled(records: Records, places: Places, ledger: Ledger, calls: Calls) -> None:
    """Note whether one name is left where the records of an rpc id gave several."""
    ends = (calls.upstream, calls.downstream)
    for (defect, recorded), left in zip(_names_of_records(records), ends, strict=True):
        several = agreed(recorded, places.of_record, len(places)) == SEVERAL
        still = agreed(left, calls.place, len(places)) == SEVERAL
        ledger.note(defect, "kept apart", places.trace[several & still])
        ledger.note(defect, "settled", places.trace[several & ~still])


def _note_incomplete(records: Records, ledger: Ledger) -> None:
    """Note the traces of which some record is in no graph."""
    ledger.note("incomplete_graph", "left out", np.flatnonzero(records.not_a_path))
