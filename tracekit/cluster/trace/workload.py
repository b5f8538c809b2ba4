"""A workload from a trace: usage tables and named assumptions."""

import dataclasses

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.arrivals import Timing, lives, order_of_arrival
from tracekit.cluster.assumptions import Assumptions, as_values
from tracekit.cluster.calls import CallWeights, call_weights
from tracekit.cluster.doubt import SizeDoubt
from tracekit.cluster.provenance import (
    nodes_rest_on,
    requests_rest_on,
    reserved_rests_on,
    rests_on,
)
from tracekit.cluster.requests.asked import Recorded
from tracekit.cluster.reserved import held_at_most, reserved_of
from tracekit.cluster.resources import BASE
from tracekit.cluster.sized.assumptions import SizedAssumptions
from tracekit.cluster.sized.rules import Rules, rules_of
from tracekit.cluster.trace.amounts import Amounts, call_rates, with_network_and_disk
from tracekit.cluster.trace.sizing import Sizing, sizing_of
from tracekit.cluster.trace.tables import Trace, trace_of
from tracekit.cluster.workload import Workload, nonzero
from tracekit.store.folder import Store


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


def _assembled(
    store: Store, trace: Trace, assumptions: Assumptions, rng: np.random.Generator
) -> Workload:
    sizing = sizing_of(store, trace, assumptions)
    asked, capacity = sizing.asked, sizing.capacity
    life = lives(trace.first_step, trace.last_step, trace.axis, assumptions)
    timing = order_of_arrival(life, trace.axis, assumptions, rng)
    amounts = Amounts(trace, life, timing, asked.full)
    background = amounts.settle(capacity if assumptions.background == "keep" else None)
    request = asked.request[timing.order]
    rules = _rules_of(sizing.recorded, trace, timing.order, request, capacity)
    recorded = trace.at[timing.order].astype(np.int64)
    placed = held_at_most(
        recorded, request, timing.arrival_ms, timing.departure_ms, nodes=len(capacity)
    )
    reserved = reserved_of(
        assumptions.reserved, background=background, capacity=capacity, held=placed
    )
    return Workload(
        name=store.name,
        step_ms=trace.axis.step_ms,
        times_ms=trace.axis.times_ms,
        node_ids=trace.node_ids,
        capacity=capacity,
        container_ids=tuple(trace.container_ids[at] for at in timing.order),
        services=tuple(trace.service_ids[at] for at in timing.order),
        recorded_node=recorded,
        arrival_ms=timing.arrival_ms,
        departure_ms=timing.departure_ms,
        resources=sizing.resources,
        request=request,
        nonzero_request=nonzero(request, asked.stated[timing.order], sizing.resources),
        limit=asked.limit[timing.order],
        usage=trace.fraction,
        background=background,
        reserved=reserved,
        exchangeable=timing.exchangeable,
        pinned=rules.pinned(recorded, timing.stays),
        **vars(rules),
        quantities=_quantities(store, sizing, reserved),
        settled_ms=timing.settled_ms,
        assumptions={**as_values(assumptions), **timing.resolved},
        doubt=_doubt(asked.doubt, trace, timing, capacity, assumptions),
        facts={**trace.facts, "container_steps_held": amounts.held, **asked.facts},
        remarks=asked.remarks,
    )


def _rules_of(
    recorded: Recorded | None, trace: Trace, order: IntArray, request: IntArray, capacity: IntArray
) -> Rules:
    """The rules recorded beside the sizes; none without tables.

    Parameters
    ----------
    order : int64, shape (containers,)
        Containers of the trace in order of arrival, which ``request`` is in too.
    """
    if recorded is None:
        return Rules()
    found = recorded.found
    ids = pl.DataFrame({"container": [trace.container_ids[at] for at in order]})
    rows = ids.join(found.containers, on="container", how="left", maintain_order="left")
    nodes = pl.DataFrame({"node": list(trace.node_ids)}).join(
        found.nodes, on="node", how="left", maintain_order="left"
    )
    return rules_of(found, nodes, rows, SizedAssumptions(), request=request, capacity=capacity)


def _quantities(store: Store, sizing: Sizing, reserved: IntArray | None) -> dict[str, str]:
    """The origin of each number of the replay."""
    return {
        **rests_on(store, "limits", "arrivals"),
        **nodes_rest_on(sizing.node_rests),
        **requests_rest_on(sizing.asked.rests),
        **reserved_rests_on(reserved),
    }


def _doubt(
    doubt: SizeDoubt | None,
    trace: Trace,
    timing: Timing,
    capacity: IntArray,
    assumptions: Assumptions,
) -> SizeDoubt | None:
    """The doubt about sizes in order of arrival, with all use of nodes where some of it is kept."""
    if doubt is None:
        return None
    whole = None
    if assumptions.background == "keep":
        room = capacity[:, : len(BASE)].T.astype(np.float32)[:, None, :]
        whole = np.nan_to_num(trace.node_fraction * room)
    return dataclasses.replace(doubt, group=doubt.group[timing.order], node_use=whole)


QUERY = "calls/service_edges"


def calls_of_store(store: Store, services: tuple[str, ...]) -> CallWeights:
    """The calls between a workload's services, by the query of service edges.

    Raises
    ------
    TracekitError
        When the store has no calls, or none between these services.
    """
    from tracekit.analysis.quick.run import run_quick  # noqa: PLC0415 - duckdb is slow to import

    if not any(entry.rows for entry in store.manifest.parts("call")):
        raise TracekitError(
            "the store has no calls between services, near_weight needs them",
            hint="ingest the call graph's files as well (MSCallGraph)",
        )
    weights = call_weights(services, run_quick(store, QUERY))
    if not len(weights.calls):
        raise TracekitError(
            "none of the calls in the store is between services that are replayed",
            hint="replay without near_weight",
        )
    return weights
