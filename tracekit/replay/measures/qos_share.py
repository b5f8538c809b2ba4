"""The share of containers that are served, its mean over the steps."""

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.measures import Measure, Step
from tracekit.replay.view.sampled import Sampled


def served_share(served: IntArray, placed: IntArray) -> FloatArray:
    """Containers served over those that run, NaN where none runs; shape (steps,) each.

    What the sources call QoS is met by a container that gets what it needs (002, section 3); on a
    node that needs more than it has, this project counts none of its containers as served.
    """
    nobody = np.full(len(placed), np.nan)
    return np.asarray(np.divide(served, placed, out=nobody, where=placed > 0))


def _at(sampled: Sampled) -> FloatArray:
    counts = sampled.containers
    return served_share((counts * ~sampled.overloaded).sum(axis=-1), counts.sum(axis=-1))


MEASURE = Measure(
    title="QoS share",
    meaning="share of containers on nodes that have enough for all they hold, mean over time",
    formula="containers on nodes without overload over all containers that run; mean over steps",
    group="answer",
    unit="0..1",
    better="high",
    because="a container counts that gets what it needs",
    order=40,
    step=Step(column="qos_share", at=_at),
)
