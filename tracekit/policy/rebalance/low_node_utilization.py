"""Low node utilization: move containers from nodes over a target to nodes under a threshold."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.parameters import About, ParameterError
from tracekit.cluster.resources import BASE, PODS
from tracekit.policy.placement import Reads
from tracekit.policy.rebalance._turn import NodeFit, Plugin, Turn
from tracekit.policy.rebalance._utilization import (
    METRIC,
    UNDERUSED,
    FewNodes,
    NodeLimit,
    Plan,
    Thresholds,
    Underused,
    UsageSource,
    View,
    above,
    below,
    by_usage,
    check,
    check_pair,
    evictions,
    mean_percent,
    named,
    percent_of,
    row,
    target_amounts,
    view_of,
)


@dataclass(frozen=True, kw_only=True)
class LowNodeUtilization(Plugin):
    """Move containers from overused to underused nodes, down to the target or while room lasts.

    The descheduler has no default thresholds; these are the example of its manual.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "limits", "usage", "placed"})
    source: ClassVar[str] = (
        "descheduler @7d2b28bf nodeutilization/lownodeutilization.go (LowNodeUtilization)"
    )

    thresholds: Underused = UNDERUSED
    target_thresholds: Annotated[
        Thresholds, About("A node above any of these is overused, percent of allocatable.")
    ] = (("cpu", 50.0), ("memory", 50.0), ("pods", 50.0))
    use_deviation_thresholds: Annotated[
        bool, About("Take the thresholds as distances from the mean over all nodes.")
    ] = False
    usage_source: Annotated[
        UsageSource,
        About(
            "The use of a node: requests; metrics_server: measured cpu and memory; prometheus:"
            " measured cpu as the resource MetricResource."
        ),
    ] = "requests"
    number_of_nodes: FewNodes = 0
    eviction_limit_node: Annotated[
        int | None, About("The most to evict from one node at a time.", minimum=0)
    ] = None
    evictor_limit_node: NodeLimit = None
    node_fit: NodeFit = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check("thresholds", self.thresholds)
        check("target_thresholds", self.target_thresholds)
        relative = self.use_deviation_thresholds
        check_pair(self.thresholds, self.target_thresholds, relative=relative)
        if self.usage_source == "prometheus" and {n for n, _ in self.thresholds} != {METRIC}:
            raise ParameterError(
                "thresholds",
                f"usage_source=prometheus needs thresholds of {METRIC} alone, got"
                f" {', '.join(name for name, _ in self.thresholds)}",
                hint=f"thresholds={METRIC}:20,target_thresholds={METRIC}:50",
            )

    def run(self, turn: Turn) -> None:
        """Evict from the nodes of the highest use first."""
        names = named(self.thresholds)
        self.evict_from(view_of(turn, names, source=self.usage_source))

    def evict_from(self, view: View) -> IntArray:
        """Containers of the view to evict, in order.

        There is none if a threshold is about a resource that the metrics server does not report:
        upstream stops with an error.
        """
        if self.usage_source == "metrics_server" and self._unmeasured():
            return np.empty(0, dtype=np.int64)
        percent = percent_of(view.used, view.capacity)
        low, high = self._limits(view, percent)
        under = view.schedulable & below(percent, low)
        over = above(percent, high) & ~under
        if not self._worthwhile(under, over):
            return np.empty(0, dtype=np.int64)
        order = by_usage(view.used, ascending=False)
        plan = Plan(
            sources=order[over[order]],
            destinations=np.flatnonzero(under),
            target=target_amounts(view.capacity, high),
            to_target=True,
            node_limit=self.eviction_limit_node,
            eligible=np.ones(len(view.containers.node), dtype=np.bool_),
        )
        return evictions(view, plan)

    def _unmeasured(self) -> set[str]:
        """Resources with a threshold that the metrics server does not report."""
        return set(named(self.thresholds)) - {*BASE, PODS}

    def _limits(self, view: View, percent: FloatArray) -> tuple[FloatArray, FloatArray]:
        low = row(named(self.thresholds), view.resources)
        high = row(named(self.target_thresholds), view.resources)
        if not self.use_deviation_thresholds:
            return low, high
        mean = np.where(np.isnan(low), np.nan, mean_percent(percent))
        return (
            np.clip(shifted(mean, -low), 0.0, 100.0),
            np.clip(shifted(mean, high), 0.0, 100.0),
        )

    def _worthwhile(self, under: BoolArray, over: BoolArray) -> bool:
        count = int(under.sum())
        return count > self.number_of_nodes and not under.all() and bool(over.any())


def shifted(values: FloatArray, by: FloatArray) -> FloatArray:
    """``values + by``; a ``by`` of NaN changes nothing, a value of NaN stays NaN."""
    return np.asarray(values + np.nan_to_num(by, nan=0.0))
