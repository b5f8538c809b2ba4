"""Utilization difference G, its mean over nodes and steps."""

from tracekit.metrics.utilization_difference import utilization_difference
from tracekit.replay.measures import Measure, Step
from tracekit.replay.measures._common import EMPTY

MEASURE = Measure(
    title="Utilization difference G",
    meaning="distance between CPU and memory use of a node, mean over nodes and time",
    formula="|CPU use - memory use|, each over capacity; mean over nodes and steps" + EMPTY,
    group="detail",
    unit="0..1",
    better="low",
    because="where one resource runs ahead, what is left of the other cannot be used",
    order=74,
    step=Step(
        column="utilization_difference_fraction",
        at=lambda sampled: utilization_difference(
            sampled.fractions[..., 0], sampled.fractions[..., 1]
        ),
    ),
    bound="any",
)
