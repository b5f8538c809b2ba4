"""A workload from a trace: usage tables and named assumptions."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.units import MILLI_PER_CORE
from tracekit.cluster.arrivals import Timing, lives, order_of_arrival
from tracekit.cluster.assembly.assumptions import SizedAssumptions
from tracekit.cluster.assembly.nodes import nodes_of
from tracekit.cluster.assembly.rules import pinned_of, rules_of
from tracekit.cluster.assembly.sizes import is_sized, records_nodes
from tracekit.cluster.assumptions import Assumptions, as_values
from tracekit.cluster.calls import CallWeights, call_weights
from tracekit.cluster.parts import Containers, Provenance, Rules, Use
from tracekit.cluster.provenance import (
    SizeDoubt,
    nodes_rest_on,
    requests_rest_on,
    reserved_rests_on,
    rests_on,
)
from tracekit.cluster.request_choice import Choice, choice_of
from tracekit.cluster.requests.asked import Asked, Recorded, recorded_sizes, uniform
from tracekit.cluster.requests.given import laid_over, request_of
from tracekit.cluster.reserved import held_at_most, reserved_of
from tracekit.cluster.resources import BASE
from tracekit.cluster.trace.amounts import Amounts, call_rates, with_network_and_disk
from tracekit.cluster.trace.tables import Trace, trace_of
from tracekit.cluster.workload import Workload, nonzero
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
    recorded = trace.at[timing.order].astype(np.int64)
    times_ms = timing.arrival_ms, timing.departure_ms
    placed = held_at_most(recorded, request, *times_ms, nodes=len(capacity))
    reserved = reserved_of(
        assumptions.reserved, background=background, capacity=capacity, held=placed
    )
    rules = _rules_of(sizing.recorded, trace, timing.order, request, capacity)
    return Workload(
        name=store.name,
        nodes=nodes_of(trace.node_ids, capacity, reserved, _listed(sizing.recorded, trace)),
        containers=Containers(
            ids=tuple(trace.container_ids[at] for at in timing.order),
            services=tuple(trace.service_ids[at] for at in timing.order),
            recorded_node=recorded,
            arrival_ms=timing.arrival_ms,
            departure_ms=timing.departure_ms,
            request=request,
            nonzero_request=nonzero(request, asked.stated[timing.order], sizing.resources),
            limit=asked.limit[timing.order],
            exchangeable=timing.exchangeable,
        ),
        use=Use(
            step_ms=trace.axis.step_ms,
            times_ms=trace.axis.times_ms,
            settled_ms=timing.settled_ms,
            values=trace.fraction,
            background=background,
        ),
        rules=dataclasses.replace(rules, pinned=pinned_of(rules.daemon, recorded, timing.stays)),
        provenance=Provenance(
            quantities=_quantities(store, sizing, reserved),
            assumptions={**as_values(assumptions), **timing.resolved},
            doubt=_doubt(asked.doubt, trace, timing, capacity, assumptions),
            facts={**trace.facts, "container_steps_held": amounts.held, **asked.facts},
            remarks=asked.remarks,
        ),
        resources=sizing.resources,
    )


def _listed(recorded: Recorded | None, trace: Trace) -> pl.DataFrame:
    """The row of each node in the table ``node``; none without tables."""
    if recorded is None:
        return pl.DataFrame()
    return pl.DataFrame({"node": list(trace.node_ids)}).join(
        recorded.found.nodes, on="node", how="left", maintain_order="left"
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
    nodes = _listed(recorded, trace)
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


def calls_of_store(store: Store, services: tuple[str, ...]) -> CallWeights:
    """The calls between a workload's services, by the query of service edges.

    Raises
    ------
    TracekitError
        When the store has no calls, or none between these services.
    """
    from tracekit.analysis.edges import QUERY, run_query  # noqa: PLC0415 - duckdb is slow to import

    if not any(entry.rows for entry in store.manifest.parts("call")):
        raise TracekitError(
            "the store has no calls between services, near_weight needs them",
            hint="ingest the call graph's files as well (MSCallGraph)",
        )
    weights = call_weights(services, run_query(store, QUERY))
    if not len(weights.calls):
        raise TracekitError(
            "none of the calls in the store is between services that are replayed",
            hint="replay without near_weight",
        )
    return weights
