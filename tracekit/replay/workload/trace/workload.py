"""A workload from a trace: usage tables and named assumptions."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import IntArray
from tracekit.replay.workload.arrivals import lives, order_of_arrival
from tracekit.replay.workload.assumptions import Assumptions, as_values
from tracekit.replay.workload.rests_on import rests_on
from tracekit.replay.workload.trace.amounts import Amounts
from tracekit.replay.workload.trace.network import call_rates, with_network_and_disk
from tracekit.replay.workload.trace.tables import Trace, trace_of
from tracekit.replay.workload.workload import Workload
from tracekit.store import Store
from tracekit.units import MILLI_PER_CORE


def workload_from_store(
    store: Store, assumptions: Assumptions, rng: np.random.Generator
) -> Workload:
    """The workload of a store's usage tables, called after the store's folder.

    The step is the commonest difference between a container's samples, else between a node's, else
    between any times of ``container_usage``. Memory is that of the matrices: no table is held.

    Raises
    ------
    TracekitError
        When no container is left to replay.
    """
    load = _assembled(store, trace_of(store, assumptions), assumptions, rng)
    if assumptions.network_and_disk == "none":
        return load
    return with_network_and_disk(load, assumptions, call_rates(store))


def name_of(store: Store) -> str:
    """The store's folder name; ``tracekit run`` calls a store 'store', so there its parent's."""
    folder = store.path.resolve()
    # a bucket has no name above it
    above = folder.parent.name if folder.name == "store" else ""
    return above or folder.name


def _assembled(
    store: Store, trace: Trace, assumptions: Assumptions, rng: np.random.Generator
) -> Workload:
    request = np.array(
        [round(assumptions.request_cpu_cores * MILLI_PER_CORE), assumptions.request_memory_bytes],
        dtype=np.int64,
    )
    requests = np.tile(request, (len(trace.container_ids), 1))
    life = lives(trace.first_step, trace.last_step, trace.axis, assumptions)
    timing = order_of_arrival(life, trace.axis, assumptions, rng)
    capacity = _capacity(trace, assumptions, requests)
    amounts = Amounts(trace, life, timing, request)
    background = amounts.settle(capacity if assumptions.background == "keep" else None)
    recorded = trace.at[timing.order].astype(np.int64)
    return Workload(
        name=name_of(store),
        step_ms=trace.axis.step_ms,
        times_ms=trace.axis.times_ms,
        node_ids=trace.node_ids,
        capacity=capacity,
        container_ids=tuple(trace.container_ids[at] for at in timing.order),
        services=tuple(trace.service_ids[at] for at in timing.order),
        recorded_node=recorded,
        arrival_ms=timing.arrival_ms,
        departure_ms=timing.departure_ms,
        request=requests,
        nonzero_request=requests,
        limit=np.ceil(requests * assumptions.limit_factor).astype(np.int64),
        usage=trace.fraction,
        background=background,
        exchangeable=timing.exchangeable,
        pinned=np.where(timing.stays, recorded, -1) if timing.stays.any() else None,
        quantities=rests_on(store, "node sizes", "requests", "limits", "arrivals"),
        settled_ms=timing.settled_ms,
        assumptions={**as_values(assumptions), **timing.resolved},
        facts={**trace.facts, "container_steps_held": amounts.held},
    )


def _capacity(trace: Trace, assumptions: Assumptions, requests: IntArray) -> IntArray:
    node = np.array([assumptions.node_cpu_cores * MILLI_PER_CORE, assumptions.node_memory_bytes])
    if assumptions.background == "none":
        wanted = requests.sum(axis=0) / (assumptions.target_alloc_fraction * len(trace.node_ids))
        # One factor for both resources, so that nodes keep their shape; the scarcer one decides.
        node = node * (wanted / node).max()
    return np.tile(np.ceil(node).astype(np.int64), (len(trace.node_ids), 1))
