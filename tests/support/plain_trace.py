"""The workload of two usage tables held as frames, joined and sorted: slow, and easy to follow.

The product reads a store's parts a piece at a time; tests hold it to this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, Float32Array, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.units import MILLI_PER_CORE
from tracekit.cluster.assembly.lives import Lives, Seen, lives_of_samples, seen_of
from tracekit.cluster.assumptions import Assumptions, as_values
from tracekit.cluster.parts import Containers, Nodes, Provenance, Use
from tracekit.cluster.resources import BASE
from tracekit.cluster.series import Axis, axis_of, hold, infer_step_ms
from tracekit.cluster.workload import Workload

_COLUMNS = ("cpu_fraction", "memory_fraction")
_USUAL_STEP_MS = 30_000


@dataclass(frozen=True, kw_only=True)
class TraceTables:
    """Complete rows of the two usage tables, sorted by entity and time.

    Parameters
    ----------
    nodes : DataFrame
        time_ms, node, cpu_fraction, memory_fraction.
    containers : DataFrame
        time_ms, service, container, node, cpu_fraction, memory_fraction; service may be NULL.
    ids : dict of str to Series
        Original ids by entity; a position in the tables is an index here.
    incomplete : int
        Rows left out because an id, the time or a value was missing.
    """

    nodes: pl.DataFrame
    containers: pl.DataFrame
    ids: dict[str, pl.Series]
    incomplete: int


def tables_of_frames(node_usage: pl.DataFrame, container_usage: pl.DataFrame) -> TraceTables:
    """From frames whose id columns hold the ids themselves."""
    ids = {
        "node": pl.concat([node_usage["node"], container_usage["node"]]),
        "service": container_usage["service"],
        "container": container_usage["container"],
    }
    dimensions = {
        entity: pl.DataFrame({"key": column, "id": column})
        for entity, column in ((e, c.drop_nulls().unique().sort()) for e, c in ids.items())
    }
    return _coded(node_usage, container_usage, dimensions)


def _coded(
    node_usage: pl.DataFrame, container_usage: pl.DataFrame, dimensions: dict[str, pl.DataFrame]
) -> TraceTables:
    ordered = {
        entity: dimension.sort("id").with_row_index("position")
        for entity, dimension in dimensions.items()
    }
    nodes = _replace(node_usage, {"node": ordered["node"]}).drop_nulls()
    containers = _replace(container_usage, ordered).drop_nulls(
        ["time_ms", "container", "node", *_COLUMNS]
    )
    if not containers.height:
        raise TracekitError(
            "no container to replay: none is listed, and container_usage holds no complete row",
            hint="ingest the file that lists containers, or that of their use",
        )
    return TraceTables(
        nodes=nodes.sort("node", "time_ms", maintain_order=True),
        containers=containers.sort("container", "time_ms", "node", maintain_order=True),
        ids={entity: dimension["id"] for entity, dimension in ordered.items()},
        incomplete=node_usage.height + container_usage.height - nodes.height - containers.height,
    )


def _replace(frame: pl.DataFrame, dimensions: dict[str, pl.DataFrame]) -> pl.DataFrame:
    for entity, dimension in dimensions.items():
        frame = (
            frame.join(
                dimension.select(pl.col("key").alias(entity), "position"),
                on=entity,
                how="left",
                maintain_order="left",
            )
            .drop(entity)
            .rename({"position": entity})
        )
    return frame.with_columns(pl.col("time_ms").cast(pl.Int64))


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The tables as matrices of fractions, gaps held; nodes and containers in order of ids.

    Parameters
    ----------
    table : DataFrame
        One row per container: id, service_id, and ``at``, the position of its node.
    container_fraction : float32, shape (2, steps, containers)
    node_fraction : float32, shape (2, steps, nodes)
        NaN for a node that was never measured.
    """

    axis: Axis
    node_ids: tuple[str, ...]
    table: pl.DataFrame
    seen: Seen
    container_fraction: Float32Array
    node_fraction: Float32Array
    facts: Mapping[str, int]


def trace_of(tables: TraceTables, axis: Axis, assumptions: Assumptions) -> Trace:
    """The matrices of a trace on an axis."""
    rows, node_rows = _on_axis(tables.containers, axis), _on_axis(tables.nodes, axis)
    nodes = pl.concat([rows["node"], node_rows["node"]]).unique().sort().to_numpy()
    table = _container_table(rows, tables)
    used = _matrix(rows, axis, rows["container"], table["container"].to_numpy())
    measured = _matrix(node_rows, axis, node_rows["node"], nodes)
    first, last = (table[name].to_numpy().astype(np.int64) for name in ("first_step", "last_step"))
    seen = seen_of(first, last, axis, assumptions)
    facts = {
        "rows_incomplete": tables.incomplete,
        "rows_stray": axis.stray_rows,
        "nodes_without_usage": int(np.isnan(measured[0]).all(axis=0).sum()),
        "containers_on_several_nodes": int((table["node_count"] > 1).sum()),
        "container_steps_held": int(
            (_at_steps(seen, len(axis.times_ms)) & np.isnan(used[0])).sum()
        ),
    }
    hold(used)
    hold(measured)
    return Trace(
        axis=axis,
        node_ids=tuple(tables.ids["node"].gather(nodes)),
        table=table.with_columns(at=pl.Series(np.searchsorted(nodes, table["node"].to_numpy()))),
        seen=seen,
        container_fraction=used,
        node_fraction=measured,
        facts=facts,
    )


def _on_axis(rows: pl.DataFrame, axis: Axis) -> pl.DataFrame:
    steps = axis.steps_of(rows["time_ms"].to_numpy())
    return rows.with_columns(step=pl.Series(steps)).filter(pl.col("step") >= 0)


def _container_table(rows: pl.DataFrame, tables: TraceTables) -> pl.DataFrame:
    found = rows.group_by("container", maintain_order=True).agg(
        pl.col("service").drop_nulls().first(),
        pl.col("node").first(),
        node_count=pl.col("node").n_unique(),
        first_step=pl.col("step").min(),
        last_step=pl.col("step").max(),
    )
    return found.with_columns(
        id=tables.ids["container"].gather(found["container"]),
        service_id=tables.ids["service"].gather(found["service"]).fill_null("?"),
    )


def _matrix(
    rows: pl.DataFrame, axis: Axis, entity: pl.Series, there: NDArray[np.uint32]
) -> Float32Array:
    matrix = np.full((len(BASE), len(axis.times_ms), len(there)), np.nan, dtype=np.float32)
    column = np.searchsorted(there, entity.to_numpy())
    step = rows["step"].to_numpy()
    # Of several rows for one cell the first shall stay, and assignment keeps the last.
    _, first = np.unique(column * len(axis.times_ms) + step, return_index=True)
    for at, name in enumerate(_COLUMNS):
        matrix[at, step[first], column[first]] = rows[name].to_numpy()[first]
    return matrix


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


def _workload(
    tables: TraceTables,
    assumptions: Assumptions,
    rng: np.random.Generator,
    name: str,
    step_ms: int | None,
) -> Workload:
    axis = axis_of(
        [_counts(tables.containers), _counts(tables.nodes)],
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
    timing = lives_of_samples(trace.seen, trace.axis, assumptions, rng)
    usage = usage[:, :, timing.order]
    usage[:, _absent(timing, trace.axis)] = np.nan
    table = trace.table[timing.order]
    return Workload(
        name=name,
        use=Use(
            step_ms=trace.axis.step_ms,
            times_ms=trace.axis.times_ms,
            values=usage,
            background=background,
            settled_ms=timing.settled_ms,
        ),
        nodes=Nodes(
            ids=trace.node_ids,
            capacity=capacity,
            reserved=_reserved(trace, background, capacity, requests, timing),
        ),
        containers=Containers(
            ids=tuple(table["id"]),
            services=tuple(table["service_id"]),
            recorded_node=table["at"].to_numpy().astype(np.int64),
            arrival_ms=timing.arrival_ms,
            departure_ms=timing.departure_ms,
            request=requests,
            nonzero_request=requests,
            limit=np.ceil(requests * assumptions.limit_factor).astype(np.int64),
            exchangeable=timing.exchangeable,
        ),
        provenance=Provenance(
            assumptions={**as_values(assumptions), **timing.resolved}, facts=trace.facts
        ),
    )


def _capacity(trace: Trace, assumptions: Assumptions, requests: IntArray) -> IntArray:
    node = np.array([assumptions.node_cpu_cores * MILLI_PER_CORE, assumptions.node_memory_bytes])
    if assumptions.background == "none":
        wanted = requests.sum(axis=0) / (assumptions.target_alloc_fraction * len(trace.node_ids))
        # One factor for both resources, so that nodes keep their shape; the scarcer one decides.
        node = node * (wanted / node).max()
    return np.tile(np.ceil(node).astype(np.int64), (len(trace.node_ids), 1))


def _reserved(
    trace: Trace,
    background: Float32Array,
    capacity: IntArray,
    requests: IntArray,
    timing: Lives,
) -> IntArray | None:
    """The mean memory of the background, at most what production's requests leave."""
    kept = np.zeros_like(capacity)
    where = trace.table["at"].to_numpy()[timing.order]
    for node in range(len(capacity)):
        its = where == node
        comes, goes, asked = (
            one[its] for one in (timing.arrival_ms, timing.departure_ms, requests[:, 1])
        )
        most = max((asked[(comes <= now) & (now < goes)].sum() for now in comes), default=0)
        mean = int(np.ceil(background[1, :, node].mean(dtype=np.float64)))
        kept[node, 1] = min(mean, max(capacity[node, 1] - most, 0))
    return kept if kept.any() else None


def _background(
    trace: Trace,
    assumptions: Assumptions,
    capacity: IntArray,
    usage: Float32Array,
) -> Float32Array:
    """``max(0, node use - use of its containers)``; 0 for nodes that were not measured."""
    result = np.zeros(trace.node_fraction.shape, dtype=np.float32)
    if assumptions.background == "none":
        return result
    nodes = trace.table["at"].to_numpy()
    there = _at_steps(trace.seen, len(trace.axis.times_ms))
    for step in range(len(there)):
        at = there[step]
        for resource in range(len(BASE)):
            used = usage[resource, step][at]
            own = np.bincount(nodes[at], used, len(trace.node_ids))
            whole = trace.node_fraction[resource, step] * capacity[:, resource]
            result[resource, step] = np.fmax(whole - own, 0.0)
    return result


def _counts(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by("time_ms").agg(rows=pl.len())


def _at_steps(seen: Seen, steps: int) -> BoolArray:
    every = np.arange(steps)[:, None]
    return np.asarray((seen.start <= every) & (every <= seen.end))


def _absent(timing: Lives, axis: Axis) -> BoolArray:
    times = axis.times_ms[:, None]
    early = (times < timing.arrival_ms) & ~timing.exchangeable
    return np.asarray(early | (times >= timing.departure_ms))
