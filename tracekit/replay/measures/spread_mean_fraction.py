"""Spread over the nodes, its mean over the steps."""

from tracekit.metrics.spread import spread
from tracekit.replay.measures import Measure, Step
from tracekit.replay.measures._common import EMPTY, EVEN

MEASURE = Measure(
    title="Spread of {resource} use",
    meaning="use of the most used node less that of the least used, mean over time",
    formula="largest less smallest {resource} use over capacity of all nodes at a step; mean over"
    " steps" + EMPTY,
    group="resource",
    unit="0..1",
    better="low",
    because=EVEN,
    order=54,
    per_resource=True,
    step=Step(column="spread_fraction", at=lambda sampled: spread(sampled.fractions)),
    bound="any",
)
