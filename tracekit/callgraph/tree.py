"""The trees: which call every call was made by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.arrays import BoolArray, Int32Array, IntArray
from tracekit.callgraph.arrays import SEVERAL, agreed, distinct, find
from tracekit.callgraph.calls import Calls
from tracekit.callgraph.ledger import Ledger
from tracekit.callgraph.places import Places


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
    """

    parent: IntArray
    kept: BoolArray
    depth: Int32Array


def by_path(calls: Calls, places: Places, ledger: Ledger) -> Tree:
    """Each call below the one whose rpc id is its own without the last number, if it is recorded.

    ``calls`` has one call per recorded place. Nothing is left out; what contradicts is noted.
    """
    above = places.parent[calls.place]
    parent = np.where(above >= 0, find(calls.place, above), -1)
    trace = places.trace[calls.place]
    tree = Tree(parent=parent, kept=np.ones(len(calls), dtype=np.bool_), depth=_depth(parent))
    linked = np.flatnonzero(parent >= 0)
    caller, callee = calls.upstream[linked], calls.downstream[parent[linked]]
    contradicts = (caller >= 0) & (callee >= 0) & (caller != callee)
    ledger.note("contradicts_parent", "kept", trace[linked[contradicts]])
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
    downstream is its upstream; a missing name contradicts nothing, but must leave one choice. One
    that contradicts all of them was most likely numbered below its sibling: with ``move`` it goes
    to the nearest place above where a call reaches its upstream, and is left out where there is
    none. What is below a call that was left out, or could be below several, is left out as an
    orphan.

    Parameters
    ----------
    calls_on : bool, shape (calls,)
        Whether a call can make others; one to a data store cannot.
    """
    grower = _Grower(calls, calls_on, places, ledger)
    for level in range(int(places.depth.max(initial=-1)) + 1):
        grower.grow(level, move=move)
    return Tree(parent=grower.parent, kept=grower.kept, depth=grower.depth)


@dataclass(frozen=True)
class _Level:
    """Kept calls of one level of paths that can make others.

    Parameters
    ----------
    held : int64
        Places with a kept call, whether it can make others or not; sorted.
    calls, places : int64
        The calls in their order, and their places.
    named, keys : int64
        The calls in the order of their keys, which are made of place and downstream.
    """

    held: IntArray
    calls: IntArray
    places: IntArray
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
        self.kept = np.zeros(len(calls), dtype=np.bool_)
        self.depth = np.zeros(len(calls), dtype=np.int32)

    def grow(self, level: int, *, move: bool) -> None:
        here = np.flatnonzero(self._level == level)
        place = self._calls.place[here]
        entry = self._places.entry[place]
        self.kept[here[entry]] = True
        rest, above = here[~entry], self._places.parent[place[~entry]]
        if len(rest):
            self._hang(rest, above, self._grown[-1], move=move)
        self._grown.append(self._index(here[self.kept[here]]))

    def _index(self, kept: IntArray) -> _Level:
        makers = kept[self._calls_on[kept]]
        place = self._calls.place[makers]
        keys = place * self._names + self._calls.downstream[makers] + 1
        order = np.argsort(keys, kind="stable")
        held = self._calls.place[kept]
        return _Level(held=held, calls=makers, places=place, named=makers[order], keys=keys[order])

    def _hang(self, which: IntArray, above: IntArray, level: _Level, *, move: bool) -> None:
        found, several = self._matching(which, above, level)
        self._ledger.note("ambiguous_parent", "first taken", self._trace[which[several]])
        self._attach(which[found >= 0], found[found >= 0])
        lost, above = which[found < 0], above[found < 0]
        caller_above = find(level.held, above) >= 0
        contradicts = caller_above & (self._calls.upstream[lost] >= 0)
        self._ledger.note("orphan", "left out", self._trace[lost[~contradicts]])
        self._move(lost[contradicts], above[contradicts], move=move)

    def _matching(
        self, which: IntArray, above: IntArray, level: _Level
    ) -> tuple[IntArray, BoolArray]:
        """The call above that each one was made by, -1 for none; and whether there were others."""
        upstream = self._calls.upstream[which]
        found, several = self._named(above, upstream, level)
        unnamed, _ = self._named(above, np.full_like(upstream, -1), level)
        found = np.where((found < 0) & (upstream >= 0), unnamed, found)
        return np.where(upstream >= 0, found, self._only(above, level)), several & (upstream >= 0)

    def _named(
        self, above: IntArray, downstream: Int32Array, level: _Level
    ) -> tuple[IntArray, BoolArray]:
        """The first kept call at a place that reaches a service, and whether more do."""
        wanted = above * self._names + downstream + 1
        at = find(level.keys, wanted)
        more = np.searchsorted(level.keys, wanted, side="right") - at > 1
        return np.where(at >= 0, _at(level.named, at), -1), more & (at >= 0)

    def _only(self, above: IntArray, level: _Level) -> IntArray:
        """The first kept call at a place, -1 unless all of them there reach the same service."""
        starts = find(level.places, above)
        groups = np.searchsorted(level.places, level.places)
        reached = self._calls.downstream[level.calls]
        agree = agreed(reached + 1, groups, len(level.places))
        return np.where(
            (starts >= 0) & (_at(agree, starts) != SEVERAL), _at(level.calls, starts), -1
        )

    def _move(self, which: IntArray, above: IntArray, *, move: bool) -> None:
        for level in reversed(self._grown[:-1]):
            if not (move and len(which)):
                break
            above = np.where(above >= 0, self._places.parent[above], -1)
            found, _ = self._named(above, self._calls.upstream[which], level)
            fits = found >= 0
            self._attach(which[fits], found[fits])
            self._ledger.note("contradicts_parent", "moved up", self._trace[which[fits]])
            which, above = which[~fits], above[~fits]
        self._ledger.note("contradicts_parent", "left out", self._trace[which])

    def _attach(self, which: IntArray, parent: IntArray) -> None:
        self.parent[which] = parent
        self.kept[which] = True
        self.depth[which] = self.depth[parent] + 1


def _at(values: IntArray | Int32Array, index: IntArray) -> IntArray:
    """``values[index]``, anything where the index is negative."""
    if not len(values):
        return np.full(len(index), -1, dtype=np.int64)
    return np.asarray(values[np.maximum(index, 0)], dtype=np.int64)
