"""Mean use over the nodes, its mean over the steps."""

from tracekit.replay.measures import Measure, Step
from tracekit.replay.measures._common import EMPTY

MEASURE = Measure(
    title="Mean {resource} use",
    meaning="use of {resource} over capacity, mean over nodes and time",
    formula="mean over nodes of {resource} use over capacity; mean over steps" + EMPTY,
    group="resource",
    unit="0..1",
    better=None,
    because="on nodes of one size every placement of the same load has the same",
    order=50,
    per_resource=True,
    step=Step(column="mean_fraction", at=lambda sampled: sampled.by_resource.mean(axis=-1).T),
)
