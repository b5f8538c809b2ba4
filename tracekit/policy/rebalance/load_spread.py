"""Load spread: move containers off nodes whose measured load is well above the mean."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.cluster.resources import full_name
from tracekit.policy.placement import Reads
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.policy.rebalance._utilization import measured_amounts
from tracekit.policy.view.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True)
class LoadSpread(RebalancePolicy):
    """Bring every node to within a margin of the mean load, with few moves.

    A rule of this project, to compare with the descheduler's rules, which consider levels and not
    the spread. The node of the highest load comes first. From each node the largest container that
    does not take the node below the mean is evicted, and so on until the node is within the margin,
    the room below the mean on other nodes is used up, or ``moves_max`` is reached.
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
        """The number of samples whose mean is a load."""
        return self.samples

    def evict(self, snapshot: Snapshot) -> IntArray:
        """Containers to evict now, from the nodes of the highest load first."""
        column = snapshot.resources.index(full_name(self.resource))
        capacity = snapshot.capacity[:, column].astype(np.float64)
        excess = excess_of(snapshot.usage.average(column, self.samples), capacity)
        room = float(-excess[excess < 0].sum())
        over = np.flatnonzero(excess > self.margin_fraction * capacity)
        sources = over[np.argsort(-excess[over] / capacity[over], kind="stable")]
        used = measured_amounts(snapshot)[:, column].astype(np.float64)
        used[snapshot.placed.stays] = 0.0  # a container that uses nothing is never chosen
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
    """The use of each node above the mean load of the cluster, 0 for a node without a sample."""
    measured = ~np.isnan(load_fraction)
    load = np.where(measured, load_fraction, 0.0) * capacity
    level = load.sum() / max(float(capacity[measured].sum()), 1.0)
    return np.where(measured, load - level * capacity, 0.0)


def chosen_of(used: FloatArray, excess: float, allowed: float, room: float) -> list[int]:
    """Positions of the containers to take off one node, the largest that fit first.

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
