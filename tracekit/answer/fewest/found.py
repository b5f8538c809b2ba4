"""What a search for the fewest nodes finds, for one policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tracekit.answer.fewest.limits import Margin
from tracekit.answer.fewest.trials import LostZone, Trial
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.errors import TracekitError

#: What is to be least: how many nodes stay, or what they cost.
NODES, COST = "nodes", "cost"


class TooFewError(TracekitError):
    """A limit breaks on all nodes, and neither fewer nor more help."""

    def __init__(self, margin: Margin, nodes: int, alone: str = "") -> None:
        allowed = "" if margin.allowed is None else f", at most {margin.allowed:,.4g} is allowed"
        value = "unknown" if margin.value is None else f"{margin.value:,.4g}"
        lost = f" without zone '{margin.lost}'" if margin.lost else ""
        super().__init__(
            f"{margin.measure} is {value} on all {nodes:,} nodes{lost}{allowed}",
            hint=f"container '{alone}' alone breaks it on every node" if alone else None,
        )
        self.margin, self.nodes, self.alone = margin, nodes, alone

    def __reduce__(self) -> tuple[object, ...]:
        return TooFewError, (self.margin, self.nodes, self.alone)


@dataclass(frozen=True, kw_only=True)
class Found:
    """The answer for one policy.

    Parameters
    ----------
    nodes : int
        How many are enough in all orders of arrival, with those that are gone by the end.
    bound : int, optional
        No placement within the limits gets by with fewer; None where nothing is proven.
    cheapest : float, optional
        No placement within the limits gets by with nodes that cost less per hour.
    left : int
        So many of all these numbers are nodes that are gone by the end.
    by_order : tuple of int
        The fewest for each order of arrival by itself, on nodes that go in the same order.
    ordering : str
        In which order nodes went.
    place : int64, shape (nodes,)
        Positions of the nodes; those that stay longest first.
    asked : float64, shape (nodes,)
        What was requested of each over time on all nodes, the mean over the orders.
    fullest : float64, shape (3, nodes)
        CPU at the 99th percentile over time, highest CPU and highest memory of each node that
        stays, in the worst order; NaN for others.
    held : tuple of Trial
        The replays on exactly these nodes, by order of arrival.
    fewer : tuple of Trial
        With one node fewer, as far as replayed: the last of them breaks a limit. Empty where fewer
        are not tried.
    seen : tuple of Trial
        Every count that was replayed in this order of nodes, and the grid of the curve.
    like : int64, shape (more,)
        Where all nodes are too few: which node each further one is like. They come after all
        others in every array.
    breaks : Margin, optional
        The limit that breaks on all nodes there are; it holds on these.
    waits_with_all : int, optional
        How many containers never find a node with all nodes either, in the worst order; None where
        none waits.
    zones : tuple of LostZone
        Each zone lost by itself; empty where no loss has to be survived.
    """

    nodes: int
    bound: int | None
    cheapest: float | None
    left: int
    by_order: tuple[int, ...]
    ordering: str
    place: IntArray
    asked: FloatArray
    fullest: FloatArray
    held: tuple[Trial, ...]
    fewer: tuple[Trial, ...]
    seen: tuple[Trial, ...]
    like: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    breaks: Margin | None = None
    waits_with_all: int | None = None
    zones: tuple[LostZone, ...] = ()

    @property
    def kept(self) -> IntArray:
        """The nodes that stay and are there at the end."""
        return self.place[self.left : self.nodes]


@dataclass(frozen=True)
class Goal:
    """What the searches for one goal found, by policy.

    Parameters
    ----------
    found : mapping of str to Found
    problems : mapping of str to TracekitError
        Of policies without an answer; a ``TooFewError`` has the limit that breaks.
    as_random : mapping of str to int
        The counts of rivals that placement at random needs no more nodes than.
    """

    found: Mapping[str, Found] = field(default_factory=dict)
    problems: Mapping[str, TracekitError] = field(default_factory=dict)
    as_random: Mapping[str, int] = field(default_factory=dict)
