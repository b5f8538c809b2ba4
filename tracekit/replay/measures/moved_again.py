"""Moves of containers that a rebalancer had moved before."""

from tracekit.replay.measures import Measure, Step

MEASURE = Measure(
    title="Moved again",
    meaning="moves of containers that had been moved before",
    formula="moves less the containers that were moved, each counted once",
    group="answer",
    unit="moves",
    better="low",
    because="a container that is moved over and over gains nothing from the moves before",
    order=44,
    step=Step(column="moved_again", whole=True),
    over_steps="sum",
)
