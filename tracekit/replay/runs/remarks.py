"""What a reader must know of a replayed workload before its numbers, a fact each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.facts import Fact
from tracekit.base.words import RESOURCES
from tracekit.cluster.provenance import ASSUMED
from tracekit.cluster.workload import Workload
from tracekit.replay.chance.material import least_apart
from tracekit.replay.measures import find_measure
from tracekit.replay.runs.growth_of_use import growth_facts
from tracekit.store.quantities import RECORDED

_SPAN = "arrival_span_ms"
#: From this share of containers on it is said that requests stand in for use.
_FEW = 0.01


def about_workload(load: Workload) -> dict[str, Any]:
    """The part of a run's document that says what to know of its workload."""
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
    """Facts where what counts as use is what containers request, in part at least.

    Parameters
    ----------
    facts : mapping
        The counts of a workload.
    quantities : mapping
        What its numbers rest on: a source whose use is assumed need not count containers.
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
    """Facts where production's peak lies in steps that no measure counts.

    None where all is judged, where production is not known, and where later peaks are as high.
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
    """The highest use of any node at some steps where production ran the containers, (2,).

    A container that came at an assumed time counts from the first step on, when its use is known.
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


# Nodes that are lost because that was asked, and what became of who lost a node or was evicted.

#: So many are named.
_NAMED = 5

Lost = Sequence[Mapping[str, Any]]


def lost_nodes(load: Workload) -> list[dict[str, Any]]:
    """The nodes that are lost by assumption, in the order of their times.

    Returns
    -------
    list of dict
        ``node``; ``after_ms``, since the beginning; ``drawn``: whether a number of nodes was asked
        for, and the seed chose this one.
    """
    if load.nodes.losses is None or load.nodes.losses.assumed is None:
        return []
    found, first, assumed = load.nodes.losses, int(load.use.times_ms[0]), load.nodes.losses.assumed
    drawn = assumed & False if found.drawn is None else found.drawn
    rows = zip(found.node.tolist(), found.time_ms.tolist(), drawn.tolist(), strict=True)
    return [
        {"node": load.nodes.ids[node], "after_ms": when - first, "drawn": by_seed}
        for (node, when, by_seed), asked in zip(rows, assumed.tolist(), strict=True)
        if asked
    ]


def _drawn(lost: Lost) -> list[str]:
    return [str(one["node"]) for one in lost if one["drawn"]]
