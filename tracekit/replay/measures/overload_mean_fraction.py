"""Use beyond capacity, its mean over the steps."""

from tracekit.metrics.overload import overload
from tracekit.replay.measures import Measure, Step
from tracekit.replay.measures._common import EMPTY

MEASURE = Measure(
    title="{resource} overload",
    meaning="use beyond what its node has, as a share of the {resource} of all nodes, mean over"
    " time",
    formula="sum over nodes of the {resource} use above capacity, over the {resource} of all"
    " nodes; mean over steps" + EMPTY,
    group="resource",
    unit="0..1",
    better="low",
    because="it is load that was not served",
    order=58,
    per_resource=True,
    step=Step(
        column="overload_fraction", at=lambda sampled: overload(sampled.used, sampled.capacity)
    ),
)
