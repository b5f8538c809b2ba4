"""The results of a search for the fewest nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tracekit.answer.fewest.limits import Margin
from tracekit.answer.fewest.trials import LostZone, Trial
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.errors import TracekitError

#: The objective: the fewest nodes, or the lowest cost.
NODES, COST = "nodes", "cost"


class TooFewError(TracekitError):
    """The error that a limit breaks on all nodes, and neither fewer nor more nodes help."""

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
class Outcome:
    """The fewest nodes for one policy, and the replays that show it.

    Parameters
    ----------
    nodes : int
        The nodes that are enough in all orders of arrival, with the ``gone_by_end`` nodes.
    bound : int, optional
        A lower bound on nodes for any placement within the limits; None if none is proven.
    cheapest : float, optional
        A lower bound on the cost per hour of any placement within the limits.
    gone_by_end : int
        How many nodes are gone by the end of the record; all counts here include them.
    by_order : tuple of int
        The fewest nodes for each order of arrival alone; nodes are removed in the same order.
    ordering : str
        The rule by which nodes are removed; see ``orderings``.
    place : int64, shape (nodes,)
        Indices of the nodes, the node that stays longest first.
    requested : float64, shape (nodes,)
        The requests on each node over time in a replay on all nodes, the mean over the orders.
    fullest : float64, shape (3, nodes)
        CPU at the 99th percentile over time, highest CPU and highest memory of each node that
        stays, in the worst order; NaN for nodes that are removed.
    held : tuple of Trial
        The replays on exactly these nodes, by order of arrival.
    fewer : tuple of Trial
        Replays with one node fewer; the last of them breaks a limit. Empty where none was tried.
    seen : tuple of Trial
        All replays in which nodes were removed by this rule.
    like : int64, shape (more,)
        Where all nodes are too few: the index of the node that each added node copies. Added nodes
        come last in every array.
    breaks : Margin, optional
        The limit that breaks on the cluster's own nodes, and holds with the added ones.
    waits_with_all : int, optional
        How many containers never get a node on all nodes, in the worst order; None where every
        container does.
    zones : tuple of LostZone
        The loss of each zone; empty where no loss has to be survived.
    """

    nodes: int
    bound: int | None
    cheapest: float | None
    gone_by_end: int
    by_order: tuple[int, ...]
    ordering: str
    place: IntArray
    requested: FloatArray
    fullest: FloatArray
    held: tuple[Trial, ...]
    fewer: tuple[Trial, ...]
    seen: tuple[Trial, ...]
    like: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    breaks: Margin | None = None
    waits_with_all: int | None = None
    zones: tuple[LostZone, ...] = ()

    @property
    def staying(self) -> IntArray:
        """Indices of the nodes that stay, without the ``gone_by_end`` nodes."""
        return self.place[self.gone_by_end : self.nodes]


@dataclass(frozen=True)
class Goal:
    """The results of the searches under the same limits, by policy.

    Parameters
    ----------
    outcomes : mapping of str to Outcome
    problems : mapping of str to TracekitError
        The error of each policy without a result; a ``TooFewError`` has the limit that breaks.
    as_random : mapping of str to int
        The counts of rivals that need as many nodes as placement at random.
    """

    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    problems: Mapping[str, TracekitError] = field(default_factory=dict)
    as_random: Mapping[str, int] = field(default_factory=dict)
