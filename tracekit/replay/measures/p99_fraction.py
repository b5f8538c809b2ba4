"""The use that 99 of 100 nodes stay at or below, whenever it was highest."""

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.replay.measures import Measure, Step
from tracekit.replay.measures._common import EMPTY
from tracekit.replay.view.sampled import Sampled

#: Of 100 nodes so many count.
PERCENT = 99


def rank_of(nodes: int) -> int:
    """The position of the percentile among so many nodes in order of use."""
    return -(-PERCENT * nodes // 100) - 1


def _at(sampled: Sampled) -> FloatArray:
    rank = rank_of(sampled.fractions.shape[1])
    return np.asarray(np.partition(sampled.by_resource, rank, axis=-1)[..., rank].T)


MEASURE = Measure(
    title="{resource} use, 99th percentile",
    meaning="how full the 99th of 100 nodes was, in order of {resource} use, at its fullest time",
    formula="the smallest {resource} use over capacity that 99 % of the nodes do not exceed at a"
    " step; largest over steps" + EMPTY,
    group="answer",
    unit="0..1",
    better="low",
    because="all but one node in a hundred always keep the rest for a peak",
    order=22,
    per_resource=True,
    step=Step(column="p99_fraction", at=_at, drawn="{resource} of the 99th of 100 nodes [%]"),
    over_steps="max",
    bound="any",
)
