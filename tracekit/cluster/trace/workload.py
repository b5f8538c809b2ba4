"""A workload from a store of usage: sizes that are not recorded are assumed, as rows.

These rows go the way of recorded ones: they become amounts, then the five parts.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.assembly.lives import Lives, lives_of_samples, seen_of
from tracekit.cluster.assembly.parts import rules_of
from tracekit.cluster.assembly.replayed import Replayed
from tracekit.cluster.assembly.sizes import (
    Amounts,
    Sizes,
    amounts_of,
    is_sized,
    records_nodes,
    sizes_of,
)
from tracekit.cluster.assembly.workload import assembled
from tracekit.cluster.assumptions import Assumptions, SizedAssumptions, as_values
from tracekit.cluster.calls import CallWeights, call_weights
from tracekit.cluster.declared import choice_of
from tracekit.cluster.parts import Provenance, Use
from tracekit.cluster.provenance import (
    SizeDoubt,
    nodes_rest_on,
    origins_of,
    requests_rest_on,
    reserved_rests_on,
)
from tracekit.cluster.request_values import ContainerRequests, of_nodes, raised
from tracekit.cluster.requests import laid_over, request_of
from tracekit.cluster.resources import BASE, held_at_most, reserved_of
from tracekit.cluster.trace.amounts import AmountConverter, call_rates, with_network_and_disk
from tracekit.cluster.trace.tables import Trace, trace_of
from tracekit.cluster.workload import Workload
from tracekit.store.folder import Store


@dataclass(frozen=True, kw_only=True)
class Sizing:
    """Sizes of a trace's nodes and containers, in the order of the trace.

    Parameters
    ----------
    sizes : Sizes
        A row for each node and each container, and rows of their resources.
    amounts : Amounts
        The sizes as arrays, with the requests that the assumptions choose.
    requests : ContainerRequests
        The chosen requests, with their origin.
    """

    sizes: Sizes
    amounts: Amounts
    requests: ContainerRequests


def sizing_of(store: Store, trace: Trace, assumptions: Assumptions) -> Sizing:
    """Return the sizes of nodes and containers that the assumptions choose.

    Raises
    ------
    TracekitError
        For an unknown choice of requests, and for a table, folder or file without a usable
        value.
    """
    choice = choice_of(assumptions.requests, recorded=is_sized(store))
    # what is chosen for some containers leaves the others what they had
    of_record = is_sized(store) and choice.kind in ("recorded", "sized", "file")
    sizes, assumed = _rows(store, trace, assumptions, of_record=of_record)
    sized = SizedAssumptions(
        resources=assumptions.resources,
        node_cpu_cores=assumptions.node_cpu_cores,
        node_memory_bytes=assumptions.node_memory_bytes,
    )
    amounts = amounts_of(sizes, trace.node_ids, sized)
    requests = _requests(amounts, assumed, assumptions)
    if of_record:
        counted = {"containers_with_assumed_request": int(assumed.any(axis=1).sum())}
        requests = dataclasses.replace(requests, facts=counted)
    requests = laid_over(
        choice,
        requests,
        store,
        container_ids=trace.container_ids,
        services=trace.service_ids,
        capacity=amounts.capacity,
        limit_factor=assumptions.limit_factor,
        # a file tells what use is a fraction of, unless the store records it
        of_use=not of_record,
    )
    requests, capacity = of_nodes(requests, amounts.resources), amounts.capacity
    if assumptions.background == "none":
        capacity = _filled(capacity, requests.request, assumptions.target_alloc_fraction)
    amounts = dataclasses.replace(
        amounts,
        capacity=capacity,
        request=requests.request,
        limit=requests.limit,
        stated=requests.stated,
    )
    return Sizing(sizes=sizes, amounts=amounts, requests=requests)


def _rows(
    store: Store, trace: Trace, assumptions: Assumptions, *, of_record: bool
) -> tuple[Sizes, BoolArray]:
    """Rows of all nodes and containers with their sizes, and which requests are assumed.

    Parameters
    ----------
    of_record : bool
        Whether recorded requests count.

    Returns
    -------
    Sizes, bool of shape (containers, 2)
    """
    sizes = sizes_of(store)
    containers = pl.DataFrame({"container": trace.container_ids})
    requests = sizes.requests if of_record else sizes.requests.clear()
    requests = requests.join(containers, on="container", how="semi", maintain_order="left")
    stated = pl.col("request").is_not_null() | (pl.col("limit") > 0)
    with_request = requests.filter(stated).select("container", "resource", known=True)
    assumed, rows = np.zeros((containers.height, len(BASE)), dtype=np.bool_), []
    for at, (name, resource, amount) in enumerate(
        zip(BASE, ("cpu", "memory"), request_of(assumptions).tolist(), strict=True)
    ):
        each = containers.with_columns(resource=pl.lit(resource))
        each = each.join(
            with_request, on=["container", "resource"], how="left", maintain_order="left"
        ).with_columns(lacks=pl.col("known").is_null())
        assumed[:, at] = each["lacks"].to_numpy()
        made = each.filter("lacks").select(
            "container", resource=pl.lit(name), request=pl.lit(float(amount))
        )
        rows.append(made)
    auto = records_nodes(store) and assumptions.node_sizes == "auto"
    every = dataclasses.replace(
        sizes,
        nodes=_beside(sizes.nodes, "node", trace.node_ids),
        capacity=sizes.capacity if auto else sizes.capacity.clear(),
        containers=_beside(sizes.containers, "container", trace.container_ids).with_columns(
            service=pl.Series(trace.service_ids)
        ),
        requests=pl.concat([requests, *rows], how="diagonal_relaxed"),
    )
    return every, assumed


def _beside(rows: pl.DataFrame, entity: str, ids: Sequence[str]) -> pl.DataFrame:
    """A row for each of these ids in their order, with the recorded columns beside it."""
    return pl.DataFrame({entity: ids}).join(rows, on=entity, how="left", maintain_order="left")


def _requests(amounts: Amounts, assumed: BoolArray, assumptions: Assumptions) -> ContainerRequests:
    """Requests and limits, and what a fraction of use is of: the limit, else the request."""
    base = slice(0, len(BASE))
    request, limit = amounts.request[:, base], amounts.limit.copy()
    full = np.where(limit[:, base] > 0, limit[:, base], request)
    full = np.where(full > 0, full, request_of(assumptions)).astype(np.float64)
    limit[:, base][assumed] = raised(request, assumptions.limit_factor)[assumed]
    rests = dict.fromkeys(amounts.resources, "recorded")
    rests |= {BASE[at]: "assumed" for at in np.flatnonzero(assumed.all(axis=0))}
    return ContainerRequests(
        resources=amounts.resources,
        request=amounts.request,
        limit=limit,
        stated=amounts.stated,
        full=full,
        rests=rests,
    )


def _filled(capacity: IntArray, request: IntArray, target: float) -> IntArray:
    """Capacities scaled so that the target share is requested; the scarcer resource decides.

    One factor counts for all resources, so that nodes keep their shapes.
    """
    mean = capacity[:, : len(BASE)].mean(axis=0)
    wanted = request[:, : len(BASE)].sum(axis=0) / (target * len(capacity))
    return np.asarray(np.ceil(capacity * (wanted / mean).max()).astype(np.int64))


def workload_from_store(
    store: Store, assumptions: Assumptions, rng: np.random.Generator
) -> Workload:
    """Return the workload of a store's usage tables; its name is that of the store's folder.

    The step is the commonest time between samples of a container. If that cannot be told, it is the
    commonest time between samples of a node, or else between any two times of ``container_usage``.
    No table is held in memory, only the matrices.

    Raises
    ------
    TracekitError
        When no container is left to replay.
    """
    trace = trace_of(store, assumptions)
    sizing = sizing_of(store, trace, assumptions)
    requests, amounts = sizing.requests, sizing.amounts
    seen = seen_of(trace.first_step, trace.last_step, trace.axis, assumptions)
    life = lives_of_samples(seen, trace.axis, assumptions, rng)
    replayed = _replayed(trace, sizing, life)
    settled = AmountConverter(trace, seen, life, requests.full)
    background = settled.background(amounts.capacity if assumptions.background == "keep" else None)
    times_ms = life.arrival_ms, life.departure_ms
    reserved = reserved_of(
        assumptions.reserved,
        background=background,
        capacity=amounts.capacity,
        held=held_at_most(replayed.where, replayed.request, *times_ms, nodes=len(amounts.capacity)),
    )
    load = assembled(
        store,
        replayed,
        use=Use(
            step_ms=life.step_ms,
            times_ms=life.times_ms,
            settled_ms=life.settled_ms,
            values=trace.fraction,
            background=background,
        ),
        reserved=reserved,
        rules=rules_of(replayed, SizedAssumptions(), assumptions.start),
        provenance=Provenance(
            quantities=_quantities(store, sizing, reserved),
            assumptions={**as_values(assumptions), **life.resolved},
            doubt=_doubt(requests.doubt, trace, life, amounts.capacity, assumptions),
            facts={**trace.facts, "container_steps_held": settled.held, **requests.facts},
            remarks=requests.remarks,
        ),
    )
    if assumptions.network_and_disk == "none":
        return load
    return with_network_and_disk(load, assumptions, call_rates(store))


def _replayed(trace: Trace, sizing: Sizing, life: Lives) -> Replayed:
    where = trace.at[life.order].astype(np.int64)
    return Replayed(
        sizes=sizing.sizes,
        nodes=list(trace.node_ids),
        life=life,
        amounts=sizing.amounts,
        rows=sizing.sizes.containers[life.order],
        where=where,
        recorded=where,
        request=sizing.amounts.request[life.order],
    )


def _quantities(store: Store, sizing: Sizing, reserved: IntArray | None) -> dict[str, str]:
    """Where each quantity of the replay comes from."""
    amounts = sizing.amounts
    nodes = {
        name: "assumed" if name in amounts.assumed else "recorded" for name in amounts.resources
    }
    return {
        **origins_of(store, "limits", "arrivals"),
        **nodes_rest_on(nodes),
        **requests_rest_on(sizing.requests.rests),
        **reserved_rests_on(reserved),
    }


def _doubt(
    doubt: SizeDoubt | None,
    trace: Trace,
    life: Lives,
    capacity: IntArray,
    assumptions: Assumptions,
) -> SizeDoubt | None:
    """The doubt about inferred sizes in order of arrival, with node use if background stays."""
    if doubt is None:
        return None
    whole = None
    if assumptions.background == "keep":
        room = capacity[:, : len(BASE)].T.astype(np.float32)[:, None, :]
        whole = np.nan_to_num(trace.node_fraction * room)
    return dataclasses.replace(doubt, group=doubt.group[life.order], node_use=whole)


def calls_of_store(store: Store, services: tuple[str, ...]) -> CallWeights:
    """Return the calls between a workload's services.

    They come from the table ``service_calls``, or else from the query ``calls/service_edges``.

    Raises
    ------
    TracekitError
        When the store has no calls, or none between these services.
    """
    # duckdb is slow to import
    from tracekit.analysis.large import EDGES, run_query  # noqa: PLC0415
    from tracekit.store.query import Database  # noqa: PLC0415

    stated = any(entry.rows for entry in store.manifest.parts("service_calls"))
    if not stated and not any(entry.rows for entry in store.manifest.parts("call")):
        raise TracekitError(
            "the store has no calls between services, near_weight needs them",
            hint="ingest the call graph's files as well (MSCallGraph), or calls.parquet",
        )
    if stated:
        with Database(store) as database:
            edges = database.frame("SELECT upstream, downstream, calls FROM service_calls")
    else:
        edges = run_query(store, EDGES)
    weights = call_weights(services, edges)
    if not len(weights.calls):
        raise TracekitError(
            "none of the calls in the store is between services that are replayed",
            hint="replay without near_weight",
        )
    return weights
