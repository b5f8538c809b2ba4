"""Containers that were evicted for others and found no other node."""

from tracekit.replay.measures import Measure
from tracekit.replay.measures._common import NOT_AGAIN

MEASURE = Measure(
    title="Evicted and not placed again",
    meaning=f"containers that one of higher priority evicted, and that {NOT_AGAIN}",
    formula=f"count of containers that {NOT_AGAIN}, and that were evicted from their last node",
    group="detail",
    unit="containers",
    better="low",
    because="they ran before, and run no more",
    order=49,
    of_run=lambda run: len(run.taken_off.unplaced_after_eviction),
    needs="preemption",
)
