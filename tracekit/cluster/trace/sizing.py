"""Sizes of the nodes and containers of a trace: recorded beside it, inferred, given, or assumed."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.base.units import MILLI_PER_CORE
from tracekit.cluster.assumptions import Assumptions
from tracekit.cluster.request_choice import Choice, choice_of
from tracekit.cluster.requests.asked import Asked, Recorded, recorded_sizes, uniform
from tracekit.cluster.requests.given import laid_over, request_of
from tracekit.cluster.resources import BASE
from tracekit.cluster.sized.assumptions import SizedAssumptions
from tracekit.cluster.sized.tables import is_sized, records_nodes
from tracekit.cluster.trace.tables import Trace
from tracekit.store.folder import Store


@dataclass(frozen=True, kw_only=True)
class Sizing:
    """Capacities of a trace's nodes and requests of its containers, in the order of the trace.

    Parameters
    ----------
    capacity : int64, shape (nodes, resources)
    node_rests : mapping
        What each resource's capacities rest on.
    choice : Choice
        Where requests come from.
    recorded : Recorded, optional
        The tables, where the store has any.
    """

    resources: tuple[str, ...]
    capacity: IntArray
    asked: Asked
    node_rests: Mapping[str, str]
    choice: Choice
    recorded: Recorded | None


def sizing_of(store: Store, trace: Trace, assumptions: Assumptions) -> Sizing:
    """Sizes as the assumptions choose them.

    Raises
    ------
    TracekitError
        For a choice that is none, and tables, folders or files that say nothing or nonsense.
    """
    choice = choice_of(assumptions.requests, recorded=is_sized(store))
    with_nodes = records_nodes(store) and assumptions.node_sizes == "auto"
    plain = uniform(len(trace.container_ids), request_of(assumptions), assumptions.limit_factor)
    # what is chosen for some containers leaves the others what they had
    keeps = is_sized(store) and choice.kind in ("recorded", "sized", "file")
    there = is_sized(store) or records_nodes(store)
    recorded = _recorded(store, trace, assumptions) if there else None
    asked = plain
    if recorded is not None and keeps:
        asked = recorded.asked(trace.container_ids, plain)
    capacity, rests = _capacity(trace, assumptions, asked, recorded if with_nodes else None)
    asked = laid_over(
        choice,
        asked,
        store,
        container_ids=trace.container_ids,
        services=trace.service_ids,
        capacity=capacity,
        limit_factor=assumptions.limit_factor,
        # a file tells what use is a fraction of, unless the store records it
        of_use=not keeps,
    )
    asked, capacity = _fitting(asked, capacity)
    if assumptions.background == "none":
        capacity = _filled(capacity, asked.request, assumptions.target_alloc_fraction)
    return Sizing(
        resources=asked.resources,
        capacity=capacity,
        asked=asked,
        node_rests=rests,
        choice=choice,
        recorded=recorded,
    )


def _recorded(store: Store, trace: Trace, assumptions: Assumptions) -> Recorded:
    sized = SizedAssumptions(
        resources=assumptions.resources,
        node_cpu_cores=assumptions.node_cpu_cores,
        node_memory_bytes=assumptions.node_memory_bytes,
    )
    return recorded_sizes(store, trace.node_ids, sized)


def _capacity(
    trace: Trace, assumptions: Assumptions, asked: Asked, recorded: Recorded | None
) -> tuple[IntArray, dict[str, str]]:
    """Capacities by the columns of ``asked``, and what they rest on."""
    nodes = len(trace.node_ids)
    node = np.array([assumptions.node_cpu_cores * MILLI_PER_CORE, assumptions.node_memory_bytes])
    if recorded is None:
        plain = np.tile(np.ceil(node).astype(np.int64), (nodes, 1))
        wide = np.zeros((nodes, len(asked.resources)), dtype=np.int64)
        wide[:, : len(BASE)] = plain
        return wide, dict.fromkeys(BASE, "assumed")
    at = [recorded.amounts.resources.index(name) for name in asked.resources]
    rests = dict.fromkeys(asked.resources, "recorded")
    for text in recorded.amounts.assumed:
        rests[text.split(" ")[0]] = "assumed"
    return recorded.amounts.capacity[:, at], rests


def _fitting(asked: Asked, capacity: IntArray) -> tuple[Asked, IntArray]:
    """Both with the same resources: those that nodes have."""
    more = len(asked.resources) - capacity.shape[1]
    if more:
        capacity = np.hstack([capacity, np.zeros((len(capacity), more), dtype=np.int64)])
    kept = [at for at, name in enumerate(asked.resources) if name in BASE or capacity[:, at].any()]
    if len(kept) == len(asked.resources):
        return asked, capacity
    some = dataclasses.replace(
        asked,
        resources=tuple(asked.resources[at] for at in kept),
        request=asked.request[:, kept],
        limit=asked.limit[:, kept],
        stated=asked.stated[:, kept],
    )
    return some, capacity[:, kept]


def _filled(capacity: IntArray, request: IntArray, target: float) -> IntArray:
    """Nodes scaled so that this share of them is requested; the scarcer of CPU and memory decides.

    One factor for all resources, so that nodes keep their shapes.
    """
    mean = capacity[:, : len(BASE)].mean(axis=0)
    wanted = request[:, : len(BASE)].sum(axis=0) / (target * len(capacity))
    return np.asarray(np.ceil(capacity * (wanted / mean).max()).astype(np.int64))
