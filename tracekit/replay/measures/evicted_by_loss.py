"""Containers whose node was lost under them."""

from tracekit.replay.measures import Measure

MEASURE = Measure(
    title="Evicted by lost nodes",
    meaning="containers that ran on a node when it was lost, and had to be placed again",
    formula="count of containers that were evicted because their node was lost",
    group="detail",
    unit="containers",
    better="low",
    because="each was down until another node had room",
    order=47,
    of_run=lambda run: len(run.taken_off.evicted),
    needs="losses",
    compared=False,
)
