"""Containers that found no node, or no other after theirs was taken."""

from tracekit.replay.measures import Measure
from tracekit.replay.measures._common import NOT_AGAIN

MEASURE = Measure(
    title="Containers left without a node",
    meaning="containers that no node had room for, at all or after they were taken off theirs",
    formula="number of containers that never got a node, or that were taken off one and"
    f" {NOT_AGAIN}",
    group="answer",
    unit="containers",
    better="low",
    because="a container without a node does no work",
    order=12,
    short="pending",
    of_run=lambda run: int((run.node < 0).sum()),
)
