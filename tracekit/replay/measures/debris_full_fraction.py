"""Debris D of full nodes, its mean over nodes and steps."""

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.metrics.debris_rate import debris_rate
from tracekit.replay.measures import Measure, Step
from tracekit.replay.view.sampled import Held


def _held(held: Held) -> FloatArray:
    """NaN where no node is full."""
    found = np.full(len(held.full), np.nan)
    for at in np.flatnonzero(held.full.any(axis=-1)):
        full = np.flatnonzero(held.full[at])
        found[at] = debris_rate(held.taken[at][:, full].T, held.room.capacity[:, full].T).mean()
    return found


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
