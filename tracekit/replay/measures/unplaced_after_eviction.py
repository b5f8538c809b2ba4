"""Containers that were evicted for others and never found another node."""

from tracekit.replay.measures import Measure

MEASURE = Measure(
    title="Evicted and not placed again",
    meaning="containers that one of higher priority evicted, and that wait at the end",
    formula="count of evicted containers that no node took afterwards",
    group="detail",
    unit="containers",
    better="low",
    because="they ran before, and run no more",
    order=49,
    of_run=lambda run: len(run.waiting_after_eviction),
    needs="preemption",
)
