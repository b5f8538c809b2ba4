"""The use that 99 of 100 nodes stay at or below, whenever it was highest."""

from collections.abc import Iterable

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.replay.measures import Measure, Step
from tracekit.replay.measures._common import EMPTY
from tracekit.replay.view.sampled import Sampled
from tracekit.words import counted

#: Of 100 nodes so many count.
PERCENT = 99
#: How sentences and limits speak of it.
_CALLED, _NAMED = "99th percentile", "_p99"


def rank_of(nodes: int) -> int:
    """The position of the percentile among so many nodes in order of use."""
    return -(-PERCENT * nodes // 100) - 1


def is_the_fullest(nodes: int, said: Iterable[str]) -> str:
    """A sentence if the percentile of so few nodes is the fullest; empty if nothing names it."""
    told = any(_CALLED in text or _NAMED in text for text in said)
    if not told or rank_of(nodes) < nodes - 1:
        return ""
    return f"With {counted(nodes, 'node')} the 99th percentile is the fullest node."


def _at(sampled: Sampled) -> FloatArray:
    rank = rank_of(sampled.fractions.shape[1])
    return np.asarray(np.partition(sampled.by_resource, rank, axis=-1)[..., rank].T)


MEASURE = Measure(
    title=f"{{resource}} use, {_CALLED}",
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
