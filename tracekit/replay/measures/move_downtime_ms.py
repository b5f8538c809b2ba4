"""The time of service that moves cost."""

from tracekit.replay.measures import Measure

# It is the moves times a parameter of the rebalancer: 'moves' is compared for both.
MEASURE = Measure(
    title="Downtime of moves",
    meaning="time of service lost to moves: their number times what the rebalancer says one costs",
    formula="moves times the downtime of one move",
    group="detail",
    unit="ms",
    better="low",
    because="it is time in which a container does no work",
    order=46,
    of_run=lambda run: run.measured["moves"] * run.move_downtime_ms,
    compared=False,
)
