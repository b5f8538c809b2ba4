"""Containers that a rebalancer moved."""

from tracekit.replay.measures import Measure, Step

MEASURE = Measure(
    title="Moves",
    meaning="containers that a rebalancer moved",
    formula="number of containers evicted and placed again",
    group="answer",
    unit="moves",
    better="low",
    because="each costs a pause in its service; what it buys is in the other measures",
    order=42,
    step=Step(column="moves", whole=True),
    over_steps="sum",
)
