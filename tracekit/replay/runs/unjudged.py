"""Production's peak in the time that is not judged, while containers still arrive."""

from typing import Any

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.chance.material import least_apart
from tracekit.replay.measures import RESOURCES, find_measure
from tracekit.replay.runs.grown import grown
from tracekit.replay.runs.lost_nodes import lost_nodes
from tracekit.replay.runs.stands_in import stands_in
from tracekit.replay.workload.workload import Workload
from tracekit.units import duration, percent

_SPAN = "arrival_span_ms"


def told_of(load: Workload) -> dict[str, Any]:
    """A document's sentences on the workload."""
    return {
        **({"told": list(load.told)} if load.told else {}),
        **({"left_out": list(load.left_out)} if load.left_out else {}),
        **({"lost": lost} if (lost := lost_nodes(load)) else {}),
        "stands_in": stands_in(load.facts, load.containers, load.quantities),
        "unjudged": unjudged(load),
        "growth": grown(load),
    }


def unjudged(load: Workload) -> str:
    """A sentence if production's peak lies in steps that no measure counts.

    Empty where all is judged, where production is not known, and where later peaks are as high.
    """
    early = load.times_ms < load.settled_ms
    if not early.any() or early.all() or not (load.recorded_node >= 0).any():
        return ""
    before, after = (peaks(load, np.flatnonzero(steps)) for steps in (early, ~early))
    higher = []
    for at, (name, words) in enumerate(RESOURCES.items()):
        measure = find_measure(f"{name}_max_fraction")
        if measure is not None and before[at] - after[at] >= least_apart(measure):
            there, later = percent(before[at]), percent(after[at])
            higher.append(f"highest {words} use is {there} there and {later} afterwards")
    if not higher:
        return ""
    span = duration(int(load.settled_ms - load.times_ms[0]))
    hint = f" --assume {_SPAN}=0 judges it, too." if load.assumptions.get(_SPAN) else ""
    return (
        f"The first {span} are not judged, as containers arrive in that time; production's"
        f" {' and its '.join(higher)}.{hint}"
    )


def peaks(load: Workload, steps: IntArray) -> FloatArray:
    """The highest use of any node at some steps where production ran the containers, (2,).

    Who came at an assumed time counts from the first step on, as its use is known from there on.
    """
    capacity = np.maximum(load.capacity[:, :2].T.astype(np.float64), 1.0)
    placed = load.recorded_node >= 0
    assumed = np.zeros(load.containers, bool) if load.exchangeable is None else load.exchangeable
    always = assumed & (load.arrival_ms <= load.settled_ms)
    highest = np.zeros(2)
    for step in steps:
        known = always & (load.times_ms[step] < load.departure_ms)
        there = np.flatnonzero(placed & (known | load.present(step)))
        use = load.use_at(step)
        for resource in range(2):
            total = load.background[resource, step] + np.bincount(
                load.recorded_node[there], use[resource, there], minlength=load.nodes
            )
            highest[resource] = max(highest[resource], float((total / capacity[resource]).max()))
    return highest
