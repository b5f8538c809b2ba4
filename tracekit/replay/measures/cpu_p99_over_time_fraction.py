"""The CPU use that the fullest node stays at or below 99 % of the time."""

from tracekit.replay.measures import Measure
from tracekit.replay.measures._common import EMPTY

MEASURE = Measure(
    title="CPU use of the fullest node, 99 % of the time",
    meaning="the CPU use that every node stays at or below 99 % of the time",
    formula="for each node the 99th percentile, by nearest rank, of CPU use over capacity over the"
    " settled steps; largest over nodes" + EMPTY,
    group="answer",
    unit="0..1",
    better="low",
    because="the fullest node is the first to slow down what it holds",
    order=21,
    of_run=lambda run: float(run.over_time.cpu_p99.max()),
)
