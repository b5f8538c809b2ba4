"""How much of the cluster is requested, its mean over the steps."""

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.replay.measures import Measure, Step
from tracekit.replay.measures._common import EMPTY
from tracekit.replay.view.sampled import Held


def _held(held: Held) -> FloatArray:
    return np.asarray(held.taken.sum(axis=-1) / held.room.capacity.sum(axis=-1))


MEASURE = Measure(
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
    step=Step(column="allocated_share", held=_held, drawn="Allocated {resource} [%]"),
)
