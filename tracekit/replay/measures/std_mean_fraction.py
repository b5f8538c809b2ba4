"""Standard deviation of use over the nodes, its mean over the steps."""

from tracekit.replay.measures import Measure, Step
from tracekit.replay.measures._common import EMPTY, EVEN

MEASURE = Measure(
    title="Standard deviation of {resource} use",
    meaning="how far the use of {resource} differs from node to node, mean over time",
    formula="root of the mean over nodes of ({resource} use over capacity - its mean over nodes)"
    " squared; mean over steps" + EMPTY,
    group="resource",
    unit="0..1",
    better="low",
    because=EVEN,
    order=52,
    per_resource=True,
    step=Step(column="std_fraction", at=lambda sampled: sampled.by_resource.std(axis=-1).T),
)
