"""Containers that lost their node and found no other."""

from tracekit.replay.measures import Measure
from tracekit.replay.measures._common import NOT_AGAIN

MEASURE = Measure(
    title="Without a node after a loss",
    meaning=f"containers that ran on a node when it was lost, and that {NOT_AGAIN}",
    formula=f"count of containers that {NOT_AGAIN}, and whose last node was lost under them",
    group="detail",
    unit="containers",
    better="low",
    because="each is work that the cluster no longer does",
    order=48,
    of_run=lambda run: len(run.taken_off.unplaced_after_loss),
    needs="losses",
    compared=False,
)
