"""What a search for the fewest nodes found, for one policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tracekit.answer.fewest.search.broken_limit import Broken
from tracekit.answer.fewest.search.trial import Trial
from tracekit.answer.fewest.search.trials import Trials
from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.bounds.apart import nodes_apart

#: Instead of a node that further ones are like: they are like several, evenly over the sizes.
MIXED = -1


@dataclass(frozen=True)
class Option:
    """So many more nodes like one that is there, at a position, or ``MIXED``, are enough."""

    like: int
    nodes: int


@dataclass(frozen=True, kw_only=True)
class Fewest:
    """The answer for one policy.

    Parameters
    ----------
    cheapest : float, optional
        No placement within the limits gets by with nodes that cost less per hour; None where prices
        are not known.
    bound : int, optional
        No placement within the limits gets by with fewer nodes; None where nothing is proven.
    least : int
        Fewer are not tried: the bound, and the nodes that never go.
    left : int
        So many of all these numbers are nodes that are gone by the end.
    by_order : tuple of int
        The fewest for each order of arrival by itself, on nodes that go in the same order, or
        ``nodes``, where that is less.
    going : str
        In which order nodes went.
    place : int64, shape (nodes,)
        Positions of the nodes; those that stay longest first.
    put : float64, shape (nodes,)
        Share of each node that was asked for over time, on all nodes.
    trials : tuple of Trial
        All that were replayed in this order, on all nodes first, then by number of nodes.
    asked : float64, shape (nodes,)
        The same where only those are left that stay, in the order of arrival as given; NaN for
        the others.
    peak : float64, shape (2, nodes)
        The highest use of CPU and memory of each node that stays, as a share of what it has, in
        the order of arrival as given; NaN for those that go.
    kind : int
        Where all nodes are too few: the node that all further ones are like in kind, or ``MIXED``.
    options : tuple of Option
        How many others would be enough instead.
    like : int64, shape (more,)
        Where all nodes are too few: which node each further one is like. They come after all
        others in every array, and all of them are among the ``nodes``, which others need not be.
    waits_with_all : int, optional
        Where containers wait with all nodes already, how many never find a node, in the worst
        order: no more of them do on those that stay. None where nothing waits.
    left_with_all : int
        How many never find a node with all nodes, in the worst order of those replayed there.
    waiting : mapping
        Who they are and why, in the order of arrival as given: see ``runs.waiting.waiting_on``.
    broken_with_all : Broken, optional
        The limit that breaks on all nodes, where it holds on fewer.
    too_few : str
        Where nodes are added: the measure of the limit that breaks on all there are.
    apart : int
        So many nodes are needed by rules on who shares one alone.
    """

    nodes: int
    bound: int | None
    cheapest: float | None
    least: int
    left: int
    by_order: tuple[int, ...]
    going: str
    place: IntArray
    put: FloatArray
    asked: FloatArray
    trials: tuple[Trial, ...]
    peak: FloatArray
    kind: int = MIXED
    options: tuple[Option, ...] = ()
    like: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    waits_with_all: int | None = None
    left_with_all: int = 0
    waiting: Mapping[str, Any] = field(default_factory=dict)
    broken_with_all: Broken | None = None
    apart: int = 0
    too_few: str = ""

    def at(self, nodes: int) -> list[Trial]:
        """The replays on so many nodes, by order of arrival."""
        return [one for one in self.trials if one.nodes == nodes]


def found_on(tried: Trials, nodes: int, bound: int | None, by_order: Sequence[int]) -> Fewest:
    """The answer where so many nodes of an order are enough."""
    return Fewest(
        nodes=nodes,
        bound=bound,
        cheapest=_proven_cost(tried, bound),
        apart=nodes_apart(tried.load),
        least=max(bound or 1, tried.fixed),
        left=tried.left,
        by_order=tuple(min(one, nodes) for one in by_order),
        going=tried.going,
        place=tried.place,
        put=tried.put,
        asked=tried.asked(nodes),
        trials=tried.trials(),
        peak=tried.peak(nodes),
    )


def _proven_cost(tried: Trials, bound: int | None) -> float | None:
    """The bound on cost, which as many nodes as are proven to be needed raise: the cheapest."""
    prices = tried.load.prices
    if tried.cheapest is None or bound is None or prices is None:
        return tried.cheapest
    return max(tried.cheapest, float(np.sort(prices)[:bound].sum()))


def again_on(found: Fewest, tried: Trials, nodes: int) -> Fewest:
    """The answer with fewer nodes than found before, of another order."""
    again = found_on(tried, nodes, found.bound, found.by_order)
    return replace(again, broken_with_all=found.broken_with_all)
