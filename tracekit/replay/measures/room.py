"""What requests leave of nodes, and what nothing fits into."""

import numpy as np

from tracekit.analysis.metrics.load import debris_rate
from tracekit.base.arrays import FloatArray
from tracekit.policy.view.sampled import Held
from tracekit.replay.measures import Measure, Step
from tracekit.replay.measures._common import EMPTY


def _allocated_share(held: Held) -> FloatArray:
    return np.asarray(held.taken.sum(axis=-1) / held.room.capacity.sum(axis=-1))


#: How much of the cluster is requested, its mean over the steps.
allocated_share = Measure(
    title="Allocated {resource}",
    meaning="share of the {resource} that requests may take on all nodes (what is reserved is left"
    " out) that containers request, mean over time",
    formula="sum of the {resource} requests of containers that run over what requests may take"
    " of the {resource} of all nodes; mean over steps" + EMPTY,
    group="resource",
    unit="0..1",
    better=None,
    because="who leaves nobody waiting has the same as everybody",
    order=56,
    per_resource=True,
    step=Step(column="allocated_share", held=_allocated_share, drawn="Allocated {resource} [%]"),
)


def _stranded_share(held: Held) -> FloatArray:
    return np.asarray((held.free * held.closed).sum(axis=-1) / held.room.capacity.sum(axis=-1))


# Fragmentation of Weng et al., USENIX ATC 2023, over containers that the empty node would take.
#: Free capacity on nodes that typical containers no longer fit, its mean over the steps.
stranded_share = Measure(
    title="Stranded {resource}",
    meaning="{resource} that nobody requests and that a typical container cannot get, because the"
    " node lacks what else it asks for, or has too little left; mean over time",
    formula="sum over nodes of free {resource} (not reserved) times the share of containers that"
    " do not fit there now, of those that ask for {resource} and would fit on the empty node, over"
    " what requests may take of all nodes; mean over steps" + EMPTY,
    group="answer",
    unit="0..1",
    better="low",
    because="it is paid for, free, and of no use",
    order=24,
    per_resource=True,
    step=Step(column="stranded_share", held=_stranded_share, drawn="Stranded {resource} [%]"),
    spoken=True,
    short="{resource} strand",
)


def _debris_full_fraction(held: Held) -> FloatArray:
    """NaN where no node is full."""
    found = np.full(len(held.full), np.nan)
    for at in np.flatnonzero(held.full.any(axis=-1)):
        full = np.flatnonzero(held.full[at])
        found[at] = debris_rate(held.taken[at][:, full].T, held.room.capacity[:, full].T).mean()
    return found


# 002 defines D for a host that takes no further task because one of its resources is used up; over
# all nodes it is one less the mean use, which every placement shares. Not compared: in an order of
# arrival in which no node is ever full it is not defined.
#: Debris D of full nodes, its mean over nodes and steps.
debris_full_fraction = Measure(
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
    step=Step(column="debris_full_fraction", held=_debris_full_fraction),
    compared=False,
)
