"""Containers that never found a node."""

from tracekit.replay.measures import Measure

MEASURE = Measure(
    title="Containers never placed",
    meaning="containers that no node had room for",
    formula="number of containers without a node at the end",
    group="answer",
    unit="containers",
    better="low",
    because="a container that is never placed does no work",
    order=12,
    short="pending",
    of_run=lambda run: int((run.node < 0).sum()),
)
