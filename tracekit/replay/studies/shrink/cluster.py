"""The nodes that a study of the fewest counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tracekit.arrays import BoolArray, FloatArray, IntArray
from tracekit.replay.workload.changed.more_nodes import numbered


@dataclass(frozen=True)
class Cluster:
    """The nodes there are: names, what they have, what they cost, and who bars their drain.

    Prices and budgets are None where they are not known; see
    ``tracekit.replay.workload.changed.on_nodes``.
    ``left`` of them are gone by the end, and no frame counts or names these; ``cordoned`` are those
    that take nothing new, None where all do. ``like`` has the name
    of the node that each further one is like, None for those that are there.
    """

    node_ids: tuple[str, ...]
    resources: tuple[str, ...]
    capacity: IntArray
    price_per_hour: FloatArray | None
    barred_by: tuple[str, ...] | None
    left: int = 0
    cordoned: BoolArray | None = None
    like: tuple[str | None, ...] = ()

    def with_more(self, like: IntArray) -> Cluster:
        """The same with further nodes behind these, each like the one at its position."""
        every = np.concatenate([np.arange(len(self.node_ids)), like])
        bars, price, closed = self.barred_by, self.price_per_hour, self.cordoned
        return replace(
            self,
            node_ids=(*self.node_ids, *numbered(self.node_ids, like)),
            capacity=self.capacity[every],
            price_per_hour=None if price is None else price[every],
            barred_by=None if bars is None else (*bars, *("" for _ in like)),
            cordoned=None if closed is None else np.append(closed, np.zeros(len(like), np.bool_)),
            like=(*(None for _ in self.node_ids), *(self.node_ids[at] for at in like.tolist())),
        )
