"""How the use of a whole cluster grew over the time that was recorded."""

import math
from collections.abc import Iterator

import numpy as np

from tracekit.analysis.metrics.trends import LEAST_DAYS, growth
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.facts import Fact
from tracekit.base.units import MS_PER_DAY, covered_ms
from tracekit.base.words import RESOURCES
from tracekit.cluster.provenance import ASSUMED, SET_ASIDE
from tracekit.cluster.workload import Workload
from tracekit.store.quantities import ABSENT

#: So many samples of a day are enough for its mean.
_A_DAY = 24
#: Later than this nothing is foretold.
_MOST_WEEKS = 520


def growth_facts(load: Workload) -> Iterator[Fact]:
    """By how much use grew a week, and when the cluster would be full; or why that is unknown."""
    if len(load.use.times_ms) < 2:
        return
    span = span_ms(load)
    days = span // MS_PER_DAY
    if because := _unknown(load, days):
        about = {"needed_days": LEAST_DAYS}
        yield Fact(
            kind="growth", subject="trace", value=span, unit="ms", because=because, about=about
        )
        return
    means = day_means(load)
    slopes = growth(means)
    for at, (name, words) in enumerate(RESOURCES.items()):
        weekly, low, high = (float(one) for one in slopes[at])
        grew = low > 0
        yield Fact(
            kind="growth",
            subject="trace",
            measure=name,
            value=weekly,
            low=low,
            high=high,
            unit="points",
            because="grew" if grew else "fell" if high < 0 else "level",
            about={
                "resource": words,
                "days": days,
                **(_full(means[at], slopes[at]) if grew else {}),
            },
        )


def _unknown(load: Workload, days: int) -> str:
    """Why growth is unknown, or may be an assumption; empty where it is neither."""
    if load.provenance.quantities.get("use of containers") == ASSUMED:
        return "no_use"
    if days < LEAST_DAYS:
        return "too_short"
    departures = load.provenance.quantities.get("departures", "")
    if departures == ABSENT:
        return "no_departures"
    return "departures_set_aside" if departures.startswith(SET_ASIDE) else ""


def _full(means: FloatArray, slope: FloatArray) -> dict[str, float]:
    """In how many weeks the mean of all nodes would be at capacity; none where that is far."""
    # the last week: a single day may be a weekend
    free = 1.0 - float(means[-7:].mean())
    weeks, soon, late = (free / by if by > 0 else math.inf for by in slope[[0, 2, 1]])
    if free <= 0 or weeks > _MOST_WEEKS:
        return {}
    return {"full_weeks": round(weeks), "soonest_weeks": round(soon), "latest_weeks": round(late)}


def day_means(load: Workload) -> FloatArray:
    """Use of all nodes together over their capacity, the mean of each whole day; (2, days)."""
    day = (load.use.times_ms - load.use.times_ms[0]) // MS_PER_DAY
    whole = span_ms(load) // MS_PER_DAY
    capacity = np.maximum(load.nodes.capacity[:, :2].sum(axis=0).astype(np.float64), 1.0)
    means = np.full((2, whole), np.nan)
    for at in range(whole):
        steps = np.flatnonzero(day == at)
        some = steps[:: max(1, len(steps) // _A_DAY)]
        if len(some):
            means[:, at] = np.mean([_use(load, step) for step in some], axis=0) / capacity
    return _filled(means)


def span_ms(load: Workload) -> int:
    """From the first step to the end of the last one; samples of use may end before."""
    return covered_ms(load.use.times_ms[0], load.use.times_ms[-1], load.use.step_ms)


def _use(load: Workload, step: int) -> FloatArray:
    """What containers use at a step, and what runs beside them; (2,)."""
    there = np.flatnonzero(load.present(step))
    beside = load.use.background[:, step].sum(axis=-1) if load.use.background.size else np.zeros(2)
    return np.asarray(load.use.at(step)[:, there].sum(axis=-1) + beside, dtype=np.float64)


def _filled(means: FloatArray) -> FloatArray:
    """Days without a sample are as the line between their neighbours has them."""
    known: IntArray = np.flatnonzero(~np.isnan(means[0]))
    days = np.arange(means.shape[1])
    return np.stack([np.interp(days, known, one[known]) for one in means])
