"""Free capacity on nodes that typical containers no longer fit, its mean over the steps."""

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.replay.measures import Measure, Step
from tracekit.replay.measures._common import EMPTY
from tracekit.replay.view.sampled import Held


def _held(held: Held) -> FloatArray:
    return np.asarray((held.free * held.closed).sum(axis=-1) / held.room.capacity.sum(axis=-1))


# Fragmentation of Weng et al., USENIX ATC 2023, over containers that the empty node would take.
MEASURE = Measure(
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
    step=Step(column="stranded_share", held=_held, drawn="Stranded {resource} [%]"),
    spoken=True,
    short="{resource} strand",
)
