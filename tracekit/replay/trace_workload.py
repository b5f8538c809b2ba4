"""A workload from a trace: usage tables and named assumptions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.replay.arrivals import order_of_arrival
from tracekit.replay.assumptions import Assumptions, as_values
from tracekit.replay.resources import BASE
from tracekit.replay.series import axis_of, infer_step_ms
from tracekit.replay.trace_matrix import Trace, trace_of
from tracekit.replay.trace_network import call_rates, with_network_and_disk
from tracekit.replay.trace_tables import TraceTables, tables_of_frames, tables_of_store
from tracekit.replay.workload import Workload
from tracekit.units import MILLI_PER_CORE

if TYPE_CHECKING:
    from tracekit.store import Store

_USUAL_STEP_MS = 30_000


def workload_from_store(
    store: Store, assumptions: Assumptions, rng: np.random.Generator
) -> Workload:
    """The workload of a store's usage tables, called after the store's folder."""
    name = _name(Path(store.path).resolve())
    load = _workload(tables_of_store(store), assumptions, rng, name, None)
    if assumptions.network_and_disk == "none":
        return load
    return with_network_and_disk(load, assumptions, call_rates(store))


def workload_from_frames(
    node_usage: pl.DataFrame,
    container_usage: pl.DataFrame,
    assumptions: Assumptions,
    rng: np.random.Generator,
    *,
    step_ms: int | None = None,
    name: str = "frames",
) -> Workload:
    """The workload of two usage tables with the columns of the base tables.

    Parameters
    ----------
    step_ms : int, optional
        Inferred when not given: the commonest difference between a container's samples, else
        between a node's, else between any times of ``container_usage``.

    Raises
    ------
    TracekitError
        When no container is left to replay.
    """
    tables = tables_of_frames(node_usage, container_usage)
    return _workload(tables, assumptions, rng, name, step_ms)


def _name(folder: Path) -> str:
    """The store's folder name; ``tracekit run`` calls a store 'store', so there its parent's."""
    return folder.parent.name if folder.name == "store" else folder.name


def _workload(
    tables: TraceTables,
    assumptions: Assumptions,
    rng: np.random.Generator,
    name: str,
    step_ms: int | None,
) -> Workload:
    axis = axis_of(
        [tables.containers["time_ms"], tables.nodes["time_ms"]],
        step_ms or _step(tables),
        gap_steps=assumptions.edge_steps,
        stray_share=assumptions.stray_share,
    )
    return _assemble(trace_of(tables, axis, assumptions), assumptions, rng, name)


def _step(tables: TraceTables) -> int:
    everything = tables.containers.with_columns(all=pl.lit(0))
    return (
        infer_step_ms(tables.containers, "container")
        or infer_step_ms(tables.nodes, "node")
        or infer_step_ms(everything, "all")
        or _USUAL_STEP_MS
    )


def _assemble(
    trace: Trace, assumptions: Assumptions, rng: np.random.Generator, name: str
) -> Workload:
    request = np.array(
        [round(assumptions.request_cpu_cores * MILLI_PER_CORE), assumptions.request_memory_bytes],
        dtype=np.int64,
    )
    requests = np.tile(request, (trace.table.height, 1))
    usage = trace.container_fraction
    usage *= request.astype(np.float32)[:, None, None]
    capacity = _capacity(trace, assumptions, requests)
    background = _background(trace, assumptions, capacity, usage)
    timing = order_of_arrival(trace.lives, trace.axis, assumptions, rng)
    usage = usage[:, :, timing.order]
    usage[:, timing.absent(trace.axis)] = np.nan
    table = trace.table[timing.order]
    return Workload(
        name=name,
        step_ms=trace.axis.step_ms,
        times_ms=trace.axis.times_ms,
        node_ids=trace.node_ids,
        capacity=capacity,
        container_ids=tuple(table["id"]),
        services=tuple(table["service_id"]),
        recorded_node=table["at"].to_numpy().astype(np.int64),
        arrival_ms=timing.arrival_ms,
        departure_ms=timing.departure_ms,
        request=requests,
        nonzero_request=requests,
        limit=np.ceil(requests * assumptions.limit_factor).astype(np.int64),
        usage=usage,
        background=background,
        exchangeable=timing.exchangeable,
        settled_ms=timing.settled_ms,
        assumptions={**as_values(assumptions), **timing.resolved},
        facts=trace.facts,
    )


def _capacity(
    trace: Trace, assumptions: Assumptions, requests: NDArray[np.int64]
) -> NDArray[np.int64]:
    node = np.array([assumptions.node_cpu_cores * MILLI_PER_CORE, assumptions.node_memory_bytes])
    if assumptions.background == "none":
        wanted = requests.sum(axis=0) / (assumptions.target_alloc_fraction * len(trace.node_ids))
        # One factor for both resources, so that nodes keep their shape; the scarcer one decides.
        node = node * (wanted / node).max()
    return np.tile(np.ceil(node).astype(np.int64), (len(trace.node_ids), 1))


def _background(
    trace: Trace,
    assumptions: Assumptions,
    capacity: NDArray[np.int64],
    usage: NDArray[np.float32],
) -> NDArray[np.float32]:
    """``max(0, node use - use of its containers)``; 0 for nodes that were not measured."""
    result = np.zeros(trace.node_fraction.shape, dtype=np.float32)
    if assumptions.background == "none":
        return result
    nodes = trace.table["at"].to_numpy()
    there = trace.lives.at_steps(len(trace.axis.times_ms))
    for step in range(len(there)):
        at = there[step]
        for resource in range(len(BASE)):
            used = usage[resource, step][at]
            own = np.bincount(nodes[at], used, len(trace.node_ids))
            whole = trace.node_fraction[resource, step] * capacity[:, resource]
            result[resource, step] = np.fmax(whole - own, 0.0)
    return result
