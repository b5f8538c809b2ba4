"""Debris rate D, its mean over nodes and steps."""

from tracekit.metrics.debris_rate import debris_rate
from tracekit.replay.measures import Measure, Step

MEASURE = Measure(
    title="Debris D",
    meaning="share of CPU and memory that lies idle, mean over nodes and time",
    formula="1 less the mean of CPU and memory use over capacity, each at most 1; mean over nodes"
    " and steps",
    group="detail",
    unit="0..1",
    better="low",
    because="its source counts what lies idle as lost; on nodes of one size without overload every"
    " placement has the same",
    order=40,
    step=Step(
        column="debris_fraction",
        at=lambda sampled: debris_rate(sampled.used, sampled.capacity).mean(axis=-1),
    ),
    bound="any",
)
