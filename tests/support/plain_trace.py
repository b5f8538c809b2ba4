"""The workload of two usage tables held as frames, joined and sorted: slow, and easy to follow.

The product reads a store's parts a piece at a time; tests hold it to this. Such a store is made
here too, in as many parts as a test wants.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tracekit._version import VERSION
from tracekit.base.arrays import BoolArray, Float32Array, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.units import MILLI_PER_CORE
from tracekit.cluster.assembly.lives import Lives, Seen, lives_of_samples, seen_of
from tracekit.cluster.assumptions import Assumptions, as_values
from tracekit.cluster.parts import Containers, Nodes, Provenance, Use
from tracekit.cluster.resources import BASE
from tracekit.cluster.series import Axis, axis_of, fill_gaps, infer_step_ms
from tracekit.cluster.workload import Workload
from tracekit.intake.ingest.dimensions import hashed, write_part
from tracekit.store.folder import (
    Manifest,
    SourceEntry,
    Store,
    dimension_path,
    open_store,
    part_path,
    write_manifest,
)

_VALUES = ("cpu_fraction", "memory_fraction")
_USUAL_STEP_MS = 30_000
_ENTITIES = ("node", "service", "container")


def workload_from_frames(
    node_usage: pl.DataFrame,
    container_usage: pl.DataFrame,
    assumptions: Assumptions,
    rng: np.random.Generator,
) -> Workload:
    """The workload of two usage tables with the columns of the base tables, ids as text.

    The step is the commonest difference between a container's samples, else between a node's, else
    between any times of ``container_usage``.

    Raises
    ------
    TracekitError
        When no container is left to replay.
    """
    nodes = node_usage.drop_nulls().sort("node", "time_ms", maintain_order=True)
    rows = container_usage.drop_nulls(["time_ms", "container", "node", *_VALUES])
    rows = rows.sort("container", "time_ms", "node", maintain_order=True)
    if not rows.height:
        raise TracekitError("no complete row of a container", hint="there is nothing to replay")
    incomplete = node_usage.height + container_usage.height - nodes.height - rows.height
    step_ms = (
        infer_step_ms(rows, "container")
        or infer_step_ms(nodes, "node")
        or infer_step_ms(rows.with_columns(all=pl.lit(0)), "all")
        or _USUAL_STEP_MS
    )
    axis = axis_of(
        [one.group_by("time_ms").agg(rows=pl.len()) for one in (rows, nodes)],
        step_ms,
        gap_steps=assumptions.edge_steps,
        stray_share=assumptions.stray_share,
    )
    rows, nodes = (
        one.with_columns(step=pl.Series(axis.steps_of(one["time_ms"].to_numpy())))
        .filter(pl.col("step") >= 0)
        for one in (rows, nodes)
    )  # fmt: skip
    return _assembled(nodes, rows, axis, assumptions, rng, incomplete)


def _assembled(
    node_rows: pl.DataFrame,
    rows: pl.DataFrame,
    axis: Axis,
    assumptions: Assumptions,
    rng: np.random.Generator,
    incomplete: int,
) -> Workload:
    steps = len(axis.times_ms)
    node_ids = sorted({*rows["node"], *node_rows["node"]})
    table = rows.group_by("container", maintain_order=True).agg(
        pl.col("service").drop_nulls().first().fill_null("?"),
        pl.col("node").first().replace_strict({one: at for at, one in enumerate(node_ids)}),
        node_count=pl.col("node").n_unique(),
        first_step=pl.col("step").min(),
        last_step=pl.col("step").max(),
    )
    used = _matrix(rows, steps, "container", list(table["container"]))
    measured = _matrix(node_rows, steps, "node", node_ids)
    first, last = (table[name].to_numpy().astype(np.int64) for name in ("first_step", "last_step"))
    seen = seen_of(first, last, axis, assumptions)
    present = _at_steps(seen, steps)
    facts = {
        "rows_incomplete": incomplete,
        "rows_stray": axis.stray_rows,
        "nodes_without_usage": int(np.isnan(measured[0]).all(axis=0).sum()),
        "containers_on_several_nodes": int((table["node_count"] > 1).sum()),
        "container_steps_held": int((present & np.isnan(used[0])).sum()),
    }
    fill_gaps(used)
    fill_gaps(measured)
    request = np.array(
        [round(assumptions.request_cpu_cores * MILLI_PER_CORE), assumptions.request_memory_bytes],
        dtype=np.int64,
    )
    requests = np.tile(request, (table.height, 1))
    used *= request.astype(np.float32)[:, None, None]
    where = table["node"].to_numpy().astype(np.int64)
    capacity = _capacity(len(node_ids), assumptions, requests)
    background = np.zeros(measured.shape, dtype=np.float32)
    if assumptions.background != "none":
        background = _background(measured, capacity, used, present, where)
    timing = lives_of_samples(seen, axis, assumptions, rng)
    used, where, table = used[:, :, timing.order], where[timing.order], table[timing.order]
    used[:, _absent(timing, axis)] = np.nan
    return Workload(
        name="frames",
        use=Use(
            step_ms=axis.step_ms,
            times_ms=axis.times_ms,
            values=used,
            background=background,
            settled_ms=timing.settled_ms,
        ),
        nodes=Nodes(
            ids=tuple(node_ids),
            capacity=capacity,
            reserved=_reserved(where, background, capacity, requests, timing),
        ),
        containers=Containers(
            ids=tuple(table["container"]),
            services=tuple(table["service"]),
            recorded_node=where,
            arrival_ms=timing.arrival_ms,
            departure_ms=timing.departure_ms,
            request=requests,
            nonzero_request=requests,
            limit=np.ceil(requests * assumptions.limit_factor).astype(np.int64),
            exchangeable=timing.exchangeable,
        ),
        provenance=Provenance(
            assumptions={**as_values(assumptions), **timing.resolved}, facts=facts
        ),
    )


def _matrix(rows: pl.DataFrame, steps: int, entity: str, ids: list[str]) -> Float32Array:
    """Fractions, shape (2, steps, ids); NaN where none was measured, of several the first."""
    matrix = np.full((len(BASE), steps, len(ids)), np.nan, dtype=np.float32)
    column = {one: at for at, one in enumerate(ids)}
    for step, one, *values in reversed(rows.select("step", entity, *_VALUES).rows()):
        matrix[:, step, column[one]] = values
    return matrix


def _capacity(nodes: int, assumptions: Assumptions, requests: IntArray) -> IntArray:
    node = np.array([assumptions.node_cpu_cores * MILLI_PER_CORE, assumptions.node_memory_bytes])
    if assumptions.background == "none":
        wanted = requests.sum(axis=0) / (assumptions.target_alloc_fraction * nodes)
        # One factor for both resources, so that nodes keep their shape; the scarcer one decides.
        node = node * (wanted / node).max()
    return np.tile(np.ceil(node).astype(np.int64), (nodes, 1))


def _background(
    measured: Float32Array,
    capacity: IntArray,
    used: Float32Array,
    present: BoolArray,
    where: IntArray,
) -> Float32Array:
    """``max(0, node use - use of its containers)``; 0 for nodes that were not measured."""
    result = np.zeros(measured.shape, dtype=np.float32)
    for step, at in enumerate(present):
        for resource in range(len(BASE)):
            own = np.bincount(where[at], used[resource, step][at], len(capacity))
            whole = measured[resource, step] * capacity[:, resource]
            result[resource, step] = np.fmax(whole - own, 0.0)
    return result


def _reserved(
    where: IntArray,
    background: Float32Array,
    capacity: IntArray,
    requests: IntArray,
    timing: Lives,
) -> IntArray | None:
    """The mean memory of the background, at most what production's requests leave."""
    reserved = np.zeros_like(capacity)
    for node in range(len(capacity)):
        its = where == node
        comes, goes, wanted = (
            one[its] for one in (timing.arrival_ms, timing.departure_ms, requests[:, 1])
        )
        most = max((wanted[(comes <= now) & (now < goes)].sum() for now in comes), default=0)
        mean = int(np.ceil(background[1, :, node].mean(dtype=np.float64)))
        reserved[node, 1] = min(mean, max(capacity[node, 1] - most, 0))
    return reserved if reserved.any() else None


def _at_steps(seen: Seen, steps: int) -> BoolArray:
    every = np.arange(steps)[:, None]
    return np.asarray((seen.start <= every) & (every <= seen.end))


def _absent(timing: Lives, axis: Axis) -> BoolArray:
    times = axis.times_ms[:, None]
    early = (times < timing.arrival_ms) & ~timing.exchangeable
    return np.asarray(early | (times >= timing.departure_ms))


def usage_store(
    folder: Path,
    node_usage: Sequence[pl.DataFrame],
    container_usage: Sequence[pl.DataFrame],
    *,
    group_rows: int = 1000,
) -> Store:
    """A store with one part per frame, rows as they stand; ids are text in the frames.

    Keys are given in the order in which ids are met, as an ingest of many files would.
    """
    keys: dict[str, dict[str, int]] = {entity: {} for entity in _ENTITIES}
    entries = []
    for table, frames in (("container_usage", container_usage), ("node_usage", node_usage)):
        for part, frame in enumerate(frames):
            path = folder / part_path(table, part)
            path.parent.mkdir(parents=True, exist_ok=True)
            _keyed(frame, keys).write_parquet(path, row_group_size=group_rows)
            entries.append(_entry(table, part, frame.height))
    for entity, name in keys.items():
        if name:
            ids, path = pl.Series(list(name)), folder / dimension_path(entity, 0)
            write_part(path, np.arange(len(name), dtype=np.int32), ids, hashed(ids))
    counts = {entity: len(name) for entity, name in keys.items()}
    write_manifest(
        folder, Manifest(tool_version=VERSION, sources=tuple(entries), dimensions=counts)
    )
    return open_store(folder)


def _keyed(frame: pl.DataFrame, keys: dict[str, dict[str, int]]) -> pl.DataFrame:
    results = {}
    for name in frame.columns:
        if name in keys:
            recorded = keys[name]
            given = [
                None if i is None else recorded.setdefault(i, len(recorded)) for i in frame[name]
            ]
            results[f"{name}_key"] = pl.Series(given, dtype=pl.Int32)
        else:
            results[name] = frame[name].cast(pl.Float64 if name in _VALUES else pl.Int64)
    return pl.DataFrame(results)


def _entry(table: str, part: int, rows: int) -> SourceEntry:
    return SourceEntry(
        file=f"{table}-{part}",
        size_bytes=0,
        sha256="",
        content="",
        release="ctm21",
        table=table,
        part=part,
        rows_read=rows,
        rows=rows,
        rejected=0,
        duplicates_dropped=0,
        time_min_ms=None,
        time_max_ms=None,
    )
