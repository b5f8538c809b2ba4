"""How the use of a whole cluster grew over the time that was recorded, in a sentence."""

import math

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.metrics.growth import LEAST_DAYS, growth
from tracekit.replay.measures import RESOURCES
from tracekit.replay.workload.facts_told import ASSUMED, SET_ASIDE
from tracekit.replay.workload.workload import Workload
from tracekit.store.quantities import ABSENT
from tracekit.units import MS_PER_DAY, covered_ms, duration
from tracekit.words import MINUS, counted, listed

#: So many samples of a day are enough for its mean.
_A_DAY = 24
#: Later than this nothing is foretold.
_MOST_WEEKS = 520


def grown(load: Workload) -> str:
    """By how much use grew per week, and when the cluster would be full; or why it is not told."""
    if len(load.times_ms) < 2:
        return ""
    days = span_ms(load) // MS_PER_DAY
    used = load.quantities.get("use of containers") != ASSUMED
    if used and days < LEAST_DAYS:
        return (
            f"A replay of {duration(span_ms(load))} is too short to tell growth:"
            f" {LEAST_DAYS} days are needed, as the days of a week differ"
        )
    if why := _not_told(load):
        return f"Growth of use cannot be told, as {why}"
    means = day_means(load)
    found = growth(means)
    grows = [at for at in range(len(RESOURCES)) if found[at, 1] > 0]
    said = [
        f"{words} {_points(found[at, 0])} ({_points(found[at, 1])} to {_points(found[at, 2])})"
        for at, words in enumerate(RESOURCES.values())
    ]
    over = f"over {counted(days, 'day')}, in points of capacity per week: {listed(said)}"
    if not grows:
        fell = any(found[at, 2] < 0 for at in range(len(RESOURCES)))
        return f"Use {'fell' if fell else 'did not grow beyond chance'} {over}"
    ends = [_full(words, means[at], found[at]) for at, words in enumerate(RESOURCES.values())]
    told = [ends[at] for at in grows if ends[at]]
    return f"Use grew {over}" + (f". If that goes on, {listed(told)}" if told else "")


def _not_told(load: Workload) -> str:
    """Why what grows here may be an assumption, a clause; empty where it is not."""
    if load.quantities.get("use of containers") == ASSUMED:
        return "no use is recorded"
    departures = load.quantities.get("departures", "")
    if departures == ABSENT:
        return "no departure is recorded"
    return f"departures are {departures}" if departures.startswith(SET_ASIDE) else ""


def _points(fraction: float) -> str:
    text = f"{100 * fraction:+.2f}".replace("-", MINUS)
    return "0.00" if text.strip(f"+{MINUS}") == "0.00" else text


def _full(words: str, means: FloatArray, found: FloatArray) -> str:
    """When the mean of all nodes would be at capacity; the fullest nodes are so earlier."""
    # the last week: a single day may be a weekend
    free = 1.0 - float(means[-7:].mean())
    weeks, soon, late = (free / by if by > 0 else math.inf for by in found[[0, 2, 1]])
    if free <= 0 or weeks > _MOST_WEEKS:
        return ""
    span = f"{soon:,.0f} to {late:,.0f}"
    return f"{words} of all nodes together is used up in {weeks:,.0f} weeks ({span})"


def day_means(load: Workload) -> FloatArray:
    """Use of all nodes together over their capacity, the mean of each whole day; (2, days)."""
    day = (load.times_ms - load.times_ms[0]) // MS_PER_DAY
    whole = span_ms(load) // MS_PER_DAY
    capacity = np.maximum(load.capacity[:, :2].sum(axis=0).astype(np.float64), 1.0)
    means = np.full((2, whole), np.nan)
    for at in range(whole):
        steps = np.flatnonzero(day == at)
        some = steps[:: max(1, len(steps) // _A_DAY)]
        if len(some):
            means[:, at] = np.mean([_use(load, step) for step in some], axis=0) / capacity
    return _filled(means)


def span_ms(load: Workload) -> int:
    """From the first step to the end of the last one; samples of use may end before."""
    return covered_ms(load.times_ms[0], load.times_ms[-1], load.step_ms)


def _use(load: Workload, step: int) -> FloatArray:
    """What containers use at a step, and what runs beside them; (2,)."""
    there = np.flatnonzero(load.present(step))
    beside = load.background[:, step].sum(axis=-1) if load.background.size else np.zeros(2)
    return np.asarray(load.use_at(step)[:, there].sum(axis=-1) + beside, dtype=np.float64)


def _filled(means: FloatArray) -> FloatArray:
    """Days without a sample are as the line between their neighbours has them."""
    known: IntArray = np.flatnonzero(~np.isnan(means[0]))
    days = np.arange(means.shape[1])
    return np.stack([np.interp(days, known, one[known]) for one in means])
