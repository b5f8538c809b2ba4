"""Moves of containers that a rebalancer had moved before."""

from tracekit.replay.measures._common import of_moves

MEASURE = of_moves(
    column="moved_again",
    title="Moved again",
    meaning="moves of containers that had been moved before",
    formula="moves less the containers that were moved, each counted once",
    because="a container that is moved over and over gains nothing from the moves before",
    order=44,
)
