"""The nodes that a study of the fewest counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.cluster.changed.more_nodes import numbered
from tracekit.cluster.declared import Ceiling
from tracekit.cluster.workload import Workload


@dataclass(frozen=True)
class Cluster:
    """The nodes there are: names, what they have, what they cost, and who bars their drain.

    Prices and budgets are None where they are not known; see
    ``tracekit.cluster.changed.on_nodes``.
    ``left`` is the number of nodes that are gone by the end; no frame counts or names these.
    ``cordoned`` marks the nodes that take nothing new, and is None where all do. ``like`` has, for
    each further node, the name of the node that it is like; None for nodes that are there.
    ``running`` is how many containers production runs on each node at the last step, and None where
    its placement is not recorded. Daemons do not count, as no drain moves them. ``special`` is the
    reason of each node that stays for a reason of its own, by position, and ``ceiling`` how full a
    node may be.
    """

    node_ids: tuple[str, ...]
    resources: tuple[str, ...]
    capacity: IntArray
    price_per_hour: FloatArray | None
    barred_by: tuple[str, ...] | None
    left: int = 0
    cordoned: BoolArray | None = None
    like: tuple[str | None, ...] = ()
    running: IntArray | None = None
    special: Mapping[int, str] = field(default_factory=dict)
    ceiling: Ceiling = field(default_factory=Ceiling)

    def with_more(self, like: IntArray) -> Cluster:
        """The cluster with further nodes behind its own, like those at the positions."""
        every = np.concatenate([np.arange(len(self.node_ids)), like])
        bars, price, closed = self.barred_by, self.price_per_hour, self.cordoned
        none = np.zeros(len(like), np.int64)
        return replace(
            self,
            node_ids=(*self.node_ids, *numbered(self.node_ids, like)),
            capacity=self.capacity[every],
            price_per_hour=None if price is None else price[every],
            barred_by=None if bars is None else (*bars, *("" for _ in like)),
            cordoned=None if closed is None else np.append(closed, np.zeros(len(like), np.bool_)),
            running=None if self.running is None else np.append(self.running, none),
            like=(*(None for _ in self.node_ids), *(self.node_ids[at] for at in like.tolist())),
        )


def running_on(load: Workload) -> IntArray | None:
    """How many containers production runs on each node at the last step, shape (nodes,).

    Daemons do not count. None where its placement is not recorded.
    """
    if not load.containers.recorded:
        return None
    there = load.present_but_daemons(-1) & (load.containers.recorded_node >= 0)
    return np.bincount(load.containers.recorded_node[there], minlength=load.nodes.count)
