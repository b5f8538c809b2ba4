"""Small workloads and snapshots, spelled out."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracekit.base.arrays import Float32Array, FloatArray
from tracekit.cluster.parts import Containers, Nodes, Use
from tracekit.cluster.workload import Workload
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.snapshot import Container, Peers, Placed, Snapshot
from tracekit.policy.view.usage import SeriesUsage

STEP_MS = 1000

#: arrival_ms, departure_ms, cpu_milli, memory_bytes; optionally the recorded node
Row = tuple[int, int, int, int] | tuple[int, int, int, int, int]


def workload(
    nodes: Sequence[tuple[int, int]],
    rows: Sequence[Row],
    *,
    steps: int = 4,
    used_share: float = 0.5,
    background: Float32Array | None = None,
) -> Workload:
    """A workload whose containers use ``used_share`` of their request, in order of arrival.

    Containers are called c0, c1, ... as given, nodes n0, n1, ...
    """
    order = sorted(range(len(rows)), key=lambda at: rows[at][0])
    given = [rows[at] for at in order]
    times = np.arange(steps, dtype=np.int64) * STEP_MS
    arrival = np.array([row[0] for row in given], dtype=np.int64)
    departure = np.array([row[1] for row in given], dtype=np.int64)
    request = np.array([row[2:4] for row in given], dtype=np.int64)
    usage = np.repeat((request.T * used_share)[:, None, :], steps, axis=1).astype(np.float32)
    usage[:, (times[:, None] < arrival) | (times[:, None] >= departure)] = np.nan
    nothing = np.zeros((2, steps, len(nodes)), dtype=np.float32)
    return Workload(
        name="hand-made",
        use=Use(
            step_ms=STEP_MS,
            times_ms=times,
            values=usage,
            background=nothing if background is None else background,
            settled_ms=0,
        ),
        nodes=Nodes(
            ids=tuple(f"n{at}" for at in range(len(nodes))),
            capacity=np.array(nodes, dtype=np.int64),
        ),
        containers=Containers(
            ids=tuple(f"c{at}" for at in order),
            services=tuple(f"s{at % 3}" for at in order),
            recorded_node=np.array([row[4] if len(row) == 5 else -1 for row in given], np.int64),
            arrival_ms=arrival,
            departure_ms=departure,
            request=request,
            nonzero_request=request,
            limit=request * 2,
        ),
    )


PARTS = ("nodes", "containers", "use", "rules", "provenance")


def changed(load: Workload, **given: Any) -> Workload:
    """The workload with some fields of its parts replaced: ``changed(load, rules={...})``."""
    parts = {
        name: dataclasses.replace(getattr(load, name), **value) if name in PARTS else value
        for name, value in given.items()
    }
    return dataclasses.replace(load, **parts)


def widened(load: Workload, capacity: Any, request: Any, *names: str) -> Workload:
    """The workload with further columns: what nodes have of them, and what containers request."""
    more = {
        name: np.column_stack([getattr(load.containers, name), request])
        for name in ("request", "nonzero_request", "limit")
    }
    wide = {"capacity": np.column_stack([load.nodes.capacity, capacity])}
    return changed(load, nodes=wide, containers=more, resources=(*load.resources, *names))


def fields_of(load: Workload) -> dict[str, Any]:
    """Every field of a workload as ``part.field``, beside its name and its resources."""
    each = {part: getattr(load, part) for part in PARTS}
    return {"name": load.name, "resources": load.resources} | {
        f"{part}.{field.name}": getattr(value, field.name)
        for part, value in each.items()
        for field in dataclasses.fields(value)
    }


def snapshot(
    allocatable: Sequence[tuple[int, int]],
    requested: Sequence[tuple[int, int]],
    *,
    used: FloatArray | None = None,
) -> Snapshot:
    """A cluster of nodes with one container on each that requests what is given.

    Measured use, shape (samples, nodes, 2), is 40, 50 and 60 % of the requests unless given.
    """
    room, taken = np.array(allocatable, dtype=np.int64), np.array(requested, dtype=np.int64)
    cluster = Cluster(resources=("cpu_milli", "memory_bytes"), capacity=room, allocatable=room)
    for node, amounts in enumerate(taken):
        cluster.change(node, amounts, amounts, amounts, sign=1)
    share = np.minimum(taken / np.maximum(room, 1), 1.0)
    placed = Placed(
        node=np.arange(len(room)),
        time_ms=np.zeros(len(room), dtype=np.int64),
        request=taken,
        limit=taken,
        service=("s",) * len(room),
    )
    usage = np.stack([share * part for part in (0.4, 0.5, 0.6)]) if used is None else used
    peers = Peers(("s",) * len(room), len(room))
    for node in range(len(room)):
        peers.add(node, node)
    return cluster.snapshot(0, usage=SeriesUsage(usage, 0), placed=placed, peers=peers)


def container(cpu_milli: int, memory_bytes: int, *, recorded_node: int | None = 0) -> Container:
    """A container that requests these amounts."""
    request = np.array([cpu_milli, memory_bytes], dtype=np.int64)
    return Container(
        id="c",
        service="s",
        request=request,
        nonzero_request=request.copy(),
        limit=request * 2,
        recorded_node=recorded_node,
    )


def waiting(*request: int) -> Container:
    """A container that requests these amounts of the resources and is limited to them."""
    row = np.array(request, dtype=np.int64)
    return Container(id="c", service="s", request=row, nonzero_request=row, limit=row)
