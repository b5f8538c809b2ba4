"""Evictions that a budget of disruption did not allow."""

from tracekit.replay.measures import Measure

MEASURE = Measure(
    title="Evictions against a budget",
    meaning="containers that one of higher priority evicted though their budget of disruption"
    " allowed none, as no other node would do",
    formula="count of evictions for a container of higher priority that a budget did not allow",
    group="detail",
    unit="containers",
    better="low",
    because="more of a set are down at once than its owner allows",
    order=59,
    of_run=lambda run: run.taken_off.against_budget,
    needs="budgets",
)
