"""Load spread: move containers off nodes whose measured load lies well above the mean."""

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
    """Bring every node to within a margin of the mean load, with as few moves as may be.

    A rule of this project, made to compare with the descheduler's, which looks at levels and not at
    the spread. The node loaded most goes first. Of its containers the largest that does not take
    it below the mean goes first, until the node is within the margin, the room below the mean on
    other nodes is used up, or ``moves_max`` is reached.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "usage", "placed"})
    source: ClassVar[str] = "tracekit's own"

    resource: Annotated[
        Literal["cpu", "memory"], About("The resource whose measured load is levelled.")
    ] = "cpu"
    margin_fraction: Annotated[
        float, About("How far above the mean a node may be.", minimum=0, maximum=1)
    ] = 0.1
    samples: Annotated[
        int, About("Newest samples that a node's load is the mean of.", minimum=1)
    ] = 10
    moves_max: Annotated[int, About("The most to evict at a time.", minimum=0)] = 100

    def metric_samples(self) -> int:
        """As many as a load is the mean of."""
        return self.samples

    def evict(self, snapshot: Snapshot) -> IntArray:
        """Containers to evict now, from the nodes loaded most first."""
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
            there = by_node[first[node] : first[node + 1]]
            allowed = float(self.margin_fraction * capacity[node])
            chosen = chosen_of(used[there], float(excess[node]), allowed, room)
            room -= float(used[there[chosen]].sum())
            evicted += there[chosen].tolist()
            if len(evicted) >= self.moves_max:
                break
        return np.array(evicted[: self.moves_max], dtype=np.int64)


def excess_of(load_fraction: FloatArray, capacity: FloatArray) -> FloatArray:
    """How much each node uses above the mean load of the cluster, 0 where nothing is measured."""
    known = ~np.isnan(load_fraction)
    load = np.where(known, load_fraction, 0.0) * capacity
    level = load.sum() / max(float(capacity[known].sum()), 1.0)
    return np.where(known, load - level * capacity, 0.0)


def chosen_of(used: FloatArray, excess: float, allowed: float, room: float) -> list[int]:
    """Positions of the containers to take off one node, the largest that fit first.

    Parameters
    ----------
    used : float64, shape (containers,)
    excess : float
        How much the node uses above the mean; it stops being over at ``allowed``.
    room : float
        What other nodes may take before they too are at the mean.
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
