"""Imbalance Z, its mean over nodes and steps."""

from tracekit.metrics.imbalance import imbalance
from tracekit.replay.measures import Measure, Step
from tracekit.replay.measures._common import EMPTY

MEASURE = Measure(
    title="Imbalance Z",
    meaning="how unevenly a node's CPU and memory are used, mean over nodes and time",
    formula="root of the sum of (use - the node's mean over CPU and memory) squared, each a share"
    " of capacity; mean over nodes and steps" + EMPTY,
    group="detail",
    unit="0..1",
    better="low",
    because="on a node used evenly no resource is stranded behind another that is used up",
    order=70,
    step=Step(
        column="imbalance",
        at=lambda sampled: imbalance(sampled.fractions).mean(axis=-1),
        drawn="Imbalance Z [0..1]",
    ),
    bound="any",
    spoken=True,
    short="Z",
)
