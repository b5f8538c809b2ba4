"""The trees: which call every call was made by."""

from dataclasses import dataclass

import numpy as np

from tracekit.analysis.callgraph.arrays import UNKNOWN, at_or, distinct, find
from tracekit.analysis.callgraph.calls import Calls
from tracekit.analysis.callgraph.ledger import Ledger
from tracekit.analysis.callgraph.places import Places
from tracekit.base.arrays import BoolArray, Int32Array, IntArray


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Where calls hang; arrays of shape (calls,).

    Parameters
    ----------
    parent : int64
        The call it was made by, as a place in the calls; -1 for one without.
    kept : bool
        Whether the call is part of the rebuilt graph.
    depth : int32
        Calls between it and the top of its tree.
    contradicts : bool
        Whether the call's upstream is another service than its parent reaches.
    """

    parent: IntArray
    kept: BoolArray
    depth: Int32Array
    contradicts: BoolArray


def by_path(calls: Calls, places: Places, ledger: Ledger) -> Tree:
    """Each call below the one whose rpc id is its own without the last number, if it is recorded.

    ``calls`` has one call per recorded place. Nothing is left out; what contradicts is noted.
    """
    above = places.parent[calls.place]
    parent = np.where(above >= 0, find(calls.place, above), -1)
    trace = places.trace[calls.place]
    kept = np.ones(len(calls), dtype=np.bool_)
    callee = at_or(calls.downstream, parent, UNKNOWN)
    contradicts = (calls.upstream >= 0) & (callee >= 0) & (calls.upstream != callee)
    tree = Tree(parent=parent, kept=kept, depth=_depth(parent), contradicts=contradicts)
    ledger.note("contradicts_parent", "kept", trace[contradicts])
    ledger.note("orphan", "kept", trace[~_below_first(tree, calls, places)])
    return tree


def _below_first(tree: Tree, calls: Calls, places: Places) -> BoolArray:
    """Whether calls hang in their trace's first tree: the one whose top is highest, then first."""
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
    """Calls above each one. Parents stand before their children."""
    depth = np.zeros(len(parent), dtype=np.int32)
    at = parent
    while (at >= 0).any():
        depth += at >= 0
        at = np.where(at >= 0, parent[np.maximum(at, 0)], -1)
    return depth


def by_name(
    calls: Calls, calls_on: BoolArray, places: Places, ledger: Ledger, *, move: bool = True
) -> Tree:
    """Each call below one that its path and its upstream both point to.

    From the entries downwards, a call is made by the first kept call at the place above whose
    downstream is its upstream; a missing name contradicts nothing. One that contradicts all of them
    goes below a call with its own rpc id that reaches its upstream, for a service may pass on the
    id it was called with; else to the nearest place above where a call reaches its upstream, for
    it was most likely numbered below its sibling. Where there is neither it stays where its path
    says, and is marked. So does one whose upstream is missing, below the nearest call that can make
    others. Nothing is left out.

    Without ``move`` what contradicts the place above is left out, and all that is below it.

    Parameters
    ----------
    calls_on : bool, shape (calls,)
        Whether a call can make others; one to a data store cannot.
    """
    grower = _Grower(calls, calls_on, places, ledger, move=move)
    for level in range(int(places.depth.max(initial=-1)) + 1):
        grower.grow(level)
    return Tree(
        parent=grower.parent, kept=grower.kept, depth=grower.depth, contradicts=grower.contradicts
    )


@dataclass(frozen=True)
class _Level:
    """Kept calls of one level of paths that can make others.

    Parameters
    ----------
    held : int64
        Places with a kept call, whether it can make others or not; sorted.
    places, first : int64
        The places of calls that can make others, sorted, and the first such call at each.
    differ : bool
        Whether the calls of each of these places reach different services.
    named, keys : int64
        The calls in the order of their keys, which are made of place and downstream.
    """

    held: IntArray
    places: IntArray
    first: IntArray
    differ: BoolArray
    named: IntArray
    keys: IntArray


class _Grower:
    def __init__(
        self, calls: Calls, calls_on: BoolArray, places: Places, ledger: Ledger, *, move: bool
    ) -> None:
        self._calls, self._places, self._ledger = calls, places, ledger
        self._calls_on, self._moves = calls_on, move
        self._trace = places.trace[calls.place]
        self._level = places.depth[calls.place]
        self._names = int(max(calls.downstream.max(initial=0), calls.upstream.max(initial=0))) + 2
        self._grown: list[_Level] = []
        self.parent = np.full(len(calls), -1, dtype=np.int64)
        self.kept = np.zeros(len(calls), dtype=np.bool_)
        self.depth = np.zeros(len(calls), dtype=np.int32)
        self.contradicts = np.zeros(len(calls), dtype=np.bool_)

    def grow(self, level: int) -> None:
        here = np.flatnonzero(self._level == level)
        place = self._calls.place[here]
        entry = self._places.entry[place]
        self.kept[here[entry]] = True
        rest, above = here[~entry], self._places.parent[place[~entry]]
        if len(rest):
            self._hang(rest, above, here)
        self._grown.append(self._index(here[self.kept[here]]))

    def _index(self, kept: IntArray) -> _Level:
        makers = kept[self._calls_on[kept]]
        place, reached = self._calls.place[makers], self._calls.downstream[makers]
        keys = place * self._names + reached + 1
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        lasts = np.append(starts, len(place))[1:] - 1
        sorted_keys = keys[order]
        return _Level(
            held=self._calls.place[kept],
            places=place[starts],
            first=makers[starts],
            differ=sorted_keys[starts] != sorted_keys[lasts],
            named=makers[order],
            keys=sorted_keys,
        )

    def _hang(self, which: IntArray, above: IntArray, here: IntArray) -> None:
        level = self._grown[-1]
        found, several = self._matching(which, above, level)
        self._ledger.note("ambiguous_parent", "first taken", self._trace[which[several]])
        self._attach(which[found >= 0], found[found >= 0])
        lost, above = which[found < 0], above[found < 0]
        if not self._moves:
            caller_above = find(level.held, above) >= 0
            self._ledger.note("orphan", "left out", self._trace[lost[~caller_above]])
            self._ledger.note("contradicts_parent", "left out", self._trace[lost[caller_above]])
            return
        lost, above = self._beside(lost, above, here)
        lost, above = self._up(lost, above)
        self._stay(lost, above)

    def _matching(
        self, which: IntArray, above: IntArray, level: _Level
    ) -> tuple[IntArray, BoolArray]:
        """The call above that each one was made by, -1 for none; and whether there were others."""
        upstream = self._calls.upstream[which]
        found, several = self._named(above, upstream, level)
        unnamed, _ = self._named(above, np.full_like(upstream, -1), level)
        found = np.where((found < 0) & (upstream >= 0), unnamed, found)
        first, differ = self._first(above, level)
        return np.where(upstream >= 0, found, first), np.where(upstream >= 0, several, differ)

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
        """Hang what a call with the same rpc id can have made; return what is left."""
        while len(which):
            place, upstream = self._calls.place[which], self._calls.upstream[which]
            found, _ = self._named(place, upstream, self._index(here[self.kept[here]]))
            fits = (found >= 0) & (upstream >= 0)
            if not fits.any():
                break
            self._attach(which[fits], found[fits])
            self._ledger.note("contradicts_parent", "moved beside", self._trace[which[fits]])
            which, above = which[~fits], above[~fits]
        return which, above

    def _up(self, which: IntArray, above: IntArray) -> tuple[IntArray, IntArray]:
        """Hang what a call further above can have made; return what is left."""
        higher = above
        for level in reversed(self._grown[:-1]):
            if not len(which):
                break
            higher = np.where(higher >= 0, self._places.parent[higher], -1)
            upstream = self._calls.upstream[which]
            named, _ = self._named(higher, upstream, level)
            first, _ = self._first(higher, level)
            found = np.where(upstream >= 0, named, first)
            fits = found >= 0
            self._attach(which[fits], found[fits])
            self._ledger.note("contradicts_parent", "moved up", self._trace[which[fits]])
            which, above, higher = which[~fits], above[~fits], higher[~fits]
        return which, above

    def _stay(self, which: IntArray, above: IntArray) -> None:
        """Hang the rest where their paths say, below the nearest call that makes others."""
        for level in reversed(self._grown):
            if not len(which):
                break
            found, _ = self._first(above, level)
            fits = found >= 0
            stays = which[fits]
            self._attach(stays, found[fits])
            self.contradicts[stays] = True
            self._ledger.note("contradicts_parent", "kept", self._trace[stays])
            which, above = which[~fits], above[~fits]
            above = np.where(above >= 0, self._places.parent[above], -1)
        self.kept[which] = True
        self._ledger.note("orphan", "kept", self._trace[which])

    def _attach(self, which: IntArray, parent: IntArray) -> None:
        self.parent[which] = parent
        self.kept[which] = True
        self.depth[which] = self.depth[parent] + 1


def _at(values: IntArray | BoolArray, index: IntArray) -> IntArray:
    """``values[index]``, anything where the index is negative."""
    if not len(values):
        return np.full(len(index), -1, dtype=np.int64)
    return np.asarray(values[np.maximum(index, 0)], dtype=np.int64)
