"""Debris D of full nodes, its mean over nodes and steps."""

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.metrics.debris_rate import debris_rate
from tracekit.replay.measures import Measure, Step
from tracekit.replay.view.sampled import Held


def _held(held: Held) -> FloatArray:
    """NaN where no node is full."""
    idle = debris_rate(held.taken.transpose(0, 2, 1), held.room.capacity.T)
    count = held.full.sum(axis=-1)
    whole = np.where(held.full, idle, 0.0).sum(axis=-1)
    return np.asarray(np.divide(whole, count, out=np.full(len(count), np.nan), where=count > 0))


# 002 defines D for a host that takes no further task because one of its resources is used up; over
# all nodes it is one less the mean use, which every placement shares. Not compared: in an order of
# arrival in which no node is ever full it is not defined.
MEASURE = Measure(
    title="Debris D of full nodes",
    meaning="share of a node's resources that nobody requests once no typical container fits there"
    " any more, mean over such nodes and time; none where no node is ever full",
    formula="1 less the mean over resources of requests over capacity, on nodes that no typical"
    " container fits though one would if they were empty; mean over nodes and steps",
    group="detail",
    unit="0..1",
    better="low",
    because="what is left on a full node is lost to it",
    order=72,
    step=Step(column="debris_full_fraction", held=_held),
    compared=False,
)
