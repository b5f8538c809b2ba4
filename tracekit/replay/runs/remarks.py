"""Remarks on a replayed workload that a reader needs before its numbers, as facts."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tracekit.analysis.metrics.load import LEAST_DAYS, growth
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.facts import Fact
from tracekit.base.units import MS_PER_DAY, covered_ms
from tracekit.base.words import RESOURCES
from tracekit.cluster.provenance import ASSUMED, SET_ASIDE
from tracekit.cluster.workload import Workload
from tracekit.replay.chance import least_apart
from tracekit.replay.measures import find_measure
from tracekit.store.quantities import ABSENT, RECORDED

_SPAN = "arrival_span_ms"
#: The least share of containers without recorded use that is worth a remark.
_FEW = 0.01


def about_workload(load: Workload) -> dict[str, Any]:
    """Return the entries of a run's manifest with remarks on the workload and its lost nodes."""
    facts = (
        *load.provenance.remarks,
        *use_assumed(load.provenance.facts, load.containers.count, load.provenance.quantities),
        *unjudged(load),
        *growth_facts(load),
    )
    return {
        **({"lost": lost} if (lost := lost_nodes(load)) else {}),
        "remarks": [one.document() for one in facts],
    }


def use_assumed(
    facts: Mapping[str, int], containers: int, quantities: Mapping[str, str]
) -> Iterator[Fact]:
    """Yield facts on use that is not recorded: requests count as the use of some or all containers.

    Parameters
    ----------
    facts : mapping
        Counts by name, as in the workload's ``provenance``.
    containers : int
    quantities : mapping
        Whether each quantity is recorded, inferred or assumed. Where all use is assumed, the counts
        are not needed.
    """
    if quantities.get("use of containers") == ASSUMED:
        because = "nodes_recorded" if quantities.get("use of nodes") == RECORDED else ""
        yield Fact(kind="use_assumed", subject="trace", because=because)
        return
    for name, because in (
        ("use", "some"),
        ("cpu_use", "some_cpu"),
        ("memory_use", "some_memory"),
    ):
        many = facts.get(f"containers_with_request_as_{name}", 0)
        if containers and many >= _FEW * containers:
            yield Fact(
                kind="use_assumed",
                subject="trace",
                value=many,
                unit="containers",
                because=because,
                about={"of": containers},
            )


def unjudged(load: Workload) -> Iterator[Fact]:
    """Yield facts on peaks of production that are not measured, as they precede the settled steps.

    There are no facts where all steps or none are settled, where no placement is recorded, or where
    a settled peak is about as high.
    """
    early = load.use.times_ms < load.use.settled_ms
    if not early.any() or early.all() or not (load.containers.recorded_node >= 0).any():
        return
    before, after = (peaks(load, np.flatnonzero(steps)) for steps in (early, ~early))
    for at, (name, words) in enumerate(RESOURCES.items()):
        measure = find_measure(f"{name}_max_fraction")
        if measure is not None and before[at] - after[at] >= least_apart(measure):
            yield Fact(
                kind="unjudged",
                subject="trace",
                measure=measure.name,
                value=float(before[at]),
                against=float(after[at]),
                unit="fraction",
                because="early_peak",
                rank=2,
                about={
                    "resource": words,
                    "first_ms": int(load.use.settled_ms - load.use.times_ms[0]),
                    "assumption": _SPAN if load.provenance.assumptions.get(_SPAN) else None,
                },
            )


def peaks(load: Workload, steps: IntArray) -> FloatArray:
    """Return the highest use over capacity of any node in the recorded placement, shape (2,).

    The result is for cpu and memory, and over the given steps. A container that has an assumed
    arrival before the settled steps counts from the first step on.
    """
    capacity = np.maximum(load.nodes.capacity[:, :2].T.astype(np.float64), 1.0)
    placed = load.containers.recorded_node >= 0
    assumed = (
        np.zeros(load.containers.count, bool)
        if load.containers.exchangeable is None
        else load.containers.exchangeable
    )
    always = assumed & (load.containers.arrival_ms <= load.use.settled_ms)
    highest = np.zeros(2)
    for step in steps:
        counted = always & (load.use.times_ms[step] < load.containers.departure_ms)
        here = np.flatnonzero(placed & (counted | load.present(step)))
        use = load.use.at(step)
        for resource in range(2):
            total = load.use.background[resource, step] + np.bincount(
                load.containers.recorded_node[here], use[resource, here], minlength=load.nodes.count
            )
            highest[resource] = max(highest[resource], float((total / capacity[resource]).max()))
    return highest


def lost_nodes(load: Workload) -> list[dict[str, Any]]:
    """Return the nodes that are lost by assumption, in the order of their times.

    Returns
    -------
    list of dict
        ``node``; ``after_ms``: the time of the loss after the first step; ``drawn``: whether the
        seed chose this node.
    """
    if load.nodes.losses is None or load.nodes.losses.assumed is None:
        return []
    lost, first, assumed = load.nodes.losses, int(load.use.times_ms[0]), load.nodes.losses.assumed
    drawn = assumed & False if lost.drawn is None else lost.drawn
    rows = zip(lost.node.tolist(), lost.time_ms.tolist(), drawn.tolist(), strict=True)
    return [
        {"node": load.nodes.ids[node], "after_ms": when - first, "drawn": by_seed}
        for (node, when, by_seed), is_assumed in zip(rows, assumed.tolist(), strict=True)
        if is_assumed
    ]


# Growth of the use of a whole cluster over the recorded time.

#: The number of samples for the mean of a day.
_A_DAY = 24
#: A cluster that would be full later than this gets no date.
_MOST_WEEKS = 520


def growth_facts(load: Workload) -> Iterator[Fact]:
    """Yield facts on weekly growth of use and when the cluster is full, or why it is unknown."""
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
    """Why the growth is unknown or may be an assumption; '' where it is neither."""
    if load.provenance.quantities.get("use of containers") == ASSUMED:
        return "no_use"
    if days < LEAST_DAYS:
        return "too_short"
    departures = load.provenance.quantities.get("departures", "")
    if departures == ABSENT:
        return "no_departures"
    return "departures_set_aside" if departures.startswith(SET_ASIDE) else ""


def _full(means: FloatArray, slope: FloatArray) -> dict[str, float]:
    """The weeks until the mean of all nodes reaches the capacity; empty beyond ``_MOST_WEEKS``."""
    # the mean of the last week, because a single day may be a weekend
    free = 1.0 - float(means[-7:].mean())
    weeks, soon, late = (free / by if by > 0 else math.inf for by in slope[[0, 2, 1]])
    if free <= 0 or weeks > _MOST_WEEKS:
        return {}
    return {"full_weeks": round(weeks), "soonest_weeks": round(soon), "latest_weeks": round(late)}


def day_means(load: Workload) -> FloatArray:
    """Return each whole day's mean use over the capacity of all nodes: cpu, memory; (2, days)."""
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
    """Return the time from the first step to the end of the last step."""
    return covered_ms(load.use.times_ms[0], load.use.times_ms[-1], load.use.step_ms)


def _use(load: Workload, step: int) -> FloatArray:
    """The use of all containers at a step plus the background of all nodes: cpu, memory; (2,)."""
    containers = np.flatnonzero(load.present(step))
    beside = load.use.background[:, step].sum(axis=-1) if load.use.background.size else np.zeros(2)
    return np.asarray(load.use.at(step)[:, containers].sum(axis=-1) + beside, dtype=np.float64)


def _filled(means: FloatArray) -> FloatArray:
    """The means with days without samples interpolated between their neighbours."""
    sampled: IntArray = np.flatnonzero(~np.isnan(means[0]))
    days = np.arange(means.shape[1])
    return np.stack([np.interp(days, sampled, one[sampled]) for one in means])
