"""Moves by the use of nodes: between thresholds, off empty nodes, and toward the mean load."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.parameters import About, ParameterError
from tracekit.cluster.resources import BASE, PODS, full_name
from tracekit.policy.placement import Reads
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.policy.rebalance._turn import NodeFit, Plugin, PluginRun
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
    measured_amounts,
    named,
    percent_of,
    row,
    target_amounts,
    view_of,
)
from tracekit.policy.view.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True)
class LowNodeUtilization(Plugin):
    """Evict containers from overused nodes while underused nodes have room below the target.

    A node is finished when it is not above the target. The descheduler has no default thresholds;
    these are the example of its manual.
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

    def run(self, turn: PluginRun) -> None:
        """Evict containers from overused nodes, the node of the highest use first."""
        names = named(self.thresholds)
        self.evict_from(view_of(turn, names, source=self.usage_source))

    def evict_from(self, view: View) -> IntArray:
        """Evict containers of the view, and return their positions in order.

        None is evicted if a threshold is about a resource that the metrics server does not report;
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
    """Return ``values + by``, where NaN in ``by`` counts as 0; NaN in ``values`` stays NaN."""
    return np.asarray(values + np.nan_to_num(by, nan=0.0))


_FULL = 100.0


@dataclass(frozen=True, kw_only=True)
class HighNodeUtilization(Plugin):
    """Evict containers from underused nodes while the other nodes have room, to empty nodes.

    Use it with a placement policy that packs. The descheduler has no default thresholds; these are
    the example of its manual.
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

    def run(self, turn: PluginRun) -> None:
        """Evict containers from underused nodes, the node of the least use first."""
        names, snapshot = named(self.thresholds), turn.cycle.snapshot
        columns = [snapshot.column(name) for name in names]
        requests = [snapshot.placed.request[:, at] > 0 for at in columns if at is not None]
        requests_one = np.any(requests, axis=0) if requests else np.zeros(len(turn.node), bool)
        self.evict_from(view_of(turn, names, source="requests"), requests_one)

    def evict_from(self, view: View, requests_one: BoolArray) -> IntArray:
        """Evict containers of the view, and return their positions in order.

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


@dataclass(frozen=True, kw_only=True)
class LoadSpread(RebalancePolicy):
    """Evict containers until each node's load is at most a margin above the mean load.

    This rule of tracekit is a comparison for the descheduler's rules, which use fixed levels. Nodes
    come in falling order of load. From each node the largest container is evicted that neither
    takes the node below the mean nor exceeds the room below the mean on other nodes. This repeats
    until the node is within the margin. At most ``moves_max`` containers are evicted.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "usage", "placed"})
    source: ClassVar[str] = "tracekit's own"

    resource: Annotated[
        Literal["cpu", "memory"], About("The resource whose measured load is levelled.")
    ] = "cpu"
    margin_fraction: Annotated[
        float, About("The highest load above the mean, of capacity.", minimum=0, maximum=1)
    ] = 0.1
    samples: Annotated[int, About("Newest samples whose mean is a node's load.", minimum=1)] = 10
    moves_max: Annotated[int, About("The most evictions at a time.", minimum=0)] = 100

    def metric_samples(self) -> int:
        """Return the number of newest samples whose mean is a node's load."""
        return self.samples

    def evict(self, snapshot: Snapshot) -> IntArray:
        """Return positions of the containers to evict now, from the nodes of highest load first."""
        column = snapshot.resources.index(full_name(self.resource))
        capacity = snapshot.capacity[:, column].astype(np.float64)
        excess = excess_of(snapshot.usage.average(column, self.samples), capacity)
        room = float(-excess[excess < 0].sum())
        over = np.flatnonzero(excess > self.margin_fraction * capacity)
        sources = over[np.argsort(-excess[over] / capacity[over], kind="stable")]
        used = measured_amounts(snapshot)[:, column].astype(np.float64)
        used[snapshot.placed.unmovable] = 0.0  # a container that uses nothing is never chosen
        by_node = np.argsort(snapshot.placed.node, kind="stable")
        first = np.searchsorted(snapshot.placed.node[by_node], np.arange(len(capacity) + 1))
        evicted: list[int] = []
        for node in sources.tolist():
            on_node = by_node[first[node] : first[node + 1]]
            allowed = float(self.margin_fraction * capacity[node])
            chosen = chosen_of(used[on_node], float(excess[node]), allowed, room)
            room -= float(used[on_node[chosen]].sum())
            evicted += on_node[chosen].tolist()
            if len(evicted) >= self.moves_max:
                break
        return np.array(evicted[: self.moves_max], dtype=np.int64)


def excess_of(load_fraction: FloatArray, capacity: FloatArray) -> FloatArray:
    """Return each node's use minus mean load times capacity, (nodes,); 0 without a sample."""
    measured = ~np.isnan(load_fraction)
    load = np.where(measured, load_fraction, 0.0) * capacity
    level = load.sum() / max(float(capacity[measured].sum()), 1.0)
    return np.where(measured, load - level * capacity, 0.0)


def chosen_of(used: FloatArray, excess: float, allowed: float, room: float) -> list[int]:
    """Return positions of the containers to evict from one node, the largest that fit first.

    Parameters
    ----------
    used : float64, shape (containers,)
    excess : float
        The use of the node above the mean.
    allowed : float
        The excess at which the node is within the margin.
    room : float
        The amount that other nodes may take before they reach the mean.
    """
    chosen = []
    for at in np.argsort(-used, kind="stable").tolist():
        if excess <= allowed:
            break
        if 0 < used[at] <= min(excess, room):
            chosen.append(at)
            excess -= float(used[at])
            room -= float(used[at])
    return chosen
