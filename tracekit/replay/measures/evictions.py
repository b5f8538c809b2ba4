"""Evictions of containers by others of higher priority."""

from tracekit.replay.measures import Measure

MEASURE = Measure(
    title="Evictions",
    meaning="containers that one of higher priority evicted, as often as that happened",
    formula="count of evictions for a container of higher priority that fitted nowhere",
    group="detail",
    unit="containers",
    better="low",
    because="what is evicted stops, and waits until there is room",
    order=45,
    of_run=lambda run: len(run.taken_off.preempted),
    needs="preemption",
)
