"""Containers that lost their node and found no other."""

from tracekit.replay.measures import Finished, Measure


def _unplaced(run: Finished) -> int:
    return len(run.waiting_after_loss)


MEASURE = Measure(
    title="Without a node after a loss",
    meaning="containers that ran on a node when it was lost, and found no other to the end",
    formula="count of evicted containers that run nowhere at the end, and have not departed",
    group="detail",
    unit="containers",
    better="low",
    because="each is work that the cluster no longer does",
    order=48,
    of_run=_unplaced,
    needs="losses",
    compared=False,
)
