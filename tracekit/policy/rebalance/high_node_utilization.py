"""High node utilization: empty nodes below a threshold, so that fewer nodes are used."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.parameters import About
from tracekit.policy.placement import Reads
from tracekit.policy.rebalance._turn import NodeFit, Plugin, Turn
from tracekit.policy.rebalance._utilization import (
    UNDERUSED,
    FewNodes,
    NodeLimit,
    Plan,
    Underused,
    View,
    below,
    by_usage,
    check,
    evictions,
    named,
    percent_of,
    row,
    target_amounts,
    view_of,
)

_FULL = 100.0


@dataclass(frozen=True, kw_only=True)
class HighNodeUtilization(Plugin):
    """Drain underused nodes while other nodes have room, behind a placement policy that packs.

    The descheduler has no default thresholds; these are the example of its manual.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "limits", "placed"})
    source: ClassVar[str] = (
        "descheduler @7d2b28bf nodeutilization/highnodeutilization.go (HighNodeUtilization)"
    )

    thresholds: Underused = UNDERUSED
    number_of_nodes: FewNodes = 0
    only_thresholding_resources: Annotated[
        bool, About("Evict only containers that request a resource with a threshold.")
    ] = False
    evictor_limit_node: NodeLimit = None
    node_fit: NodeFit = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check("thresholds", self.thresholds)

    def run(self, turn: Turn) -> None:
        """Evict from the nodes of the least use first."""
        names, snapshot = named(self.thresholds), turn.cycle.snapshot
        columns = [snapshot.column(name) for name in names]
        requests = [snapshot.placed.request[:, at] > 0 for at in columns if at is not None]
        requests_one = np.any(requests, axis=0) if requests else np.zeros(len(turn.node), bool)
        self.evict_from(view_of(turn, names, source="requests"), requests_one)

    def evict_from(self, view: View, requests_one: BoolArray) -> IntArray:
        """Containers of the view to evict, in order.

        Parameters
        ----------
        requests_one : bool, shape (containers,)
            Containers that request a resource with a threshold.
        """
        low = row(named(self.thresholds), view.resources)
        under = below(percent_of(view.used, view.capacity), low)
        takers = np.flatnonzero(~under & view.schedulable)
        if int(under.sum()) <= self.number_of_nodes or under.all() or not len(takers):
            return np.empty(0, dtype=np.int64)
        order = by_usage(view.used, ascending=True)
        full = np.where(np.isnan(low), np.nan, _FULL)
        plan = Plan(
            sources=order[under[order]],
            destinations=takers,
            target=target_amounts(view.capacity, full),
            to_target=False,
            node_limit=None,
            eligible=requests_one | (not self.only_thresholding_resources),
        )
        return evictions(view, plan)
