"""Clusters as kubectl prints them, as a descheduler sees them at the moment of the list."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit.cluster.constraints.written import OF_CONTAINERS, OF_NODES, written_of
from tracekit.intake.sources._cluster import Batch
from tracekit.intake.sources.own._kubernetes.listings import Listing
from tracekit.intake.sources.own._kubernetes.objects import Thing
from tracekit.intake.sources.own._kubernetes.requests import amount
from tracekit.intake.sources.own._roster.read import rows_of_things
from tracekit.intake.sources.own._roster.roster import Roster, note_things
from tracekit.policy.entrant import parse_rebalancer
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.pods import pods_of
from tracekit.policy.view.snapshot import Placed, Snapshot
from tracekit.policy.view.usage import SeriesUsage

Object = Mapping[str, Any]
#: How many of the snapshot's unit one of the store's is.
_UNITS = {"cpu": ("cpu_milli", 1000), "memory": ("memory_bytes", 1)}


def tables_of(objects: Sequence[Object]) -> dict[str, pl.DataFrame]:
    """The tables of a store that takes in a list of nodes and pods."""
    things = [
        Thing(number=at, kind=one["kind"], value=dict(one), event=None, listed=True)
        for at, one in enumerate(objects, 1)
    ]
    known, listing = Roster(), Listing(name="list")
    note_things(known, things, listing)
    known.listed_ms = listing.time_ms
    known.settle()
    found: dict[str, pl.DataFrame] = {}
    for batch in rows_of_things(things, known):
        assert isinstance(batch, Batch)  # nothing is broken
        found[batch.table] = batch.rows
    return found


def snapshot_of(objects: Sequence[Object], metrics: Sequence[Sequence[Object]] = ()) -> Snapshot:
    """The cluster when it was listed; ``metrics`` are those of nodes and of pods."""
    tables = tables_of(objects)
    nodes, rows = _whole(tables["node"], OF_NODES), _whole(tables["container"], OF_CONTAINERS)
    written = written_of(rows, nodes)
    assert written is not None
    names, pods = nodes["node"].to_list(), rows["container"].to_list()
    asked = tables["node_resource"]["resource"].unique().sort().to_list()
    others = [one for one in asked if one not in {*_UNITS, "pods", "disk"}]
    resources = [*_UNITS, "pods", *others]
    room = _amounts(tables["node_resource"], "node", names, "amount", resources)
    sizes = tables["container_resource"]
    request, limit = (
        _amounts(sizes, "container", pods, column, resources) for column in ("request", "limit")
    )
    request[:, resources.index("pods")] = 1
    columns = tuple(_UNITS.get(one, (one, 1))[0] for one in resources)
    cluster = Cluster(resources=columns, capacity=room, allocatable=room)
    at = np.array([names.index(one) for one in rows["node"]], dtype=np.int64)
    for node, taken in zip(at.tolist(), request, strict=True):
        cluster.change(node, taken, taken, taken, sign=1)
    daemon = rows["daemon"].to_numpy() > 0
    of_nodes, of_pods = (_used(some) for some in metrics) if metrics else ({}, {})
    used = np.array([of_nodes.get(one, (0, 0)) for one in names]) / room[:, :2]
    return cluster.snapshot(
        int(rows["listed_ms"].max()),  # type: ignore[arg-type]
        usage=SeriesUsage(used[None], 0),
        placed=Placed(
            node=at,
            time_ms=written.created_ms,
            request=request,
            limit=limit,
            service=tuple(rows["service"]),
            usage=np.array([of_pods.get(one, (np.nan, np.nan)) for one in pods], dtype=float),
            index=np.arange(len(pods)),
            daemon=daemon if daemon.any() else None,
            created_ms=written.created_ms,
        ),
        pods=pods_of(written, names),
    )


def evicted_by(policy: Any, seen: Snapshot, pods: Sequence[str], folder: Path) -> list[str]:
    """The pods that a DeschedulerPolicy evicts, in their order."""
    path = folder / "descheduler.yaml"
    path.write_text(policy if isinstance(policy, str) else json.dumps(policy))
    return [pods[at] for at in parse_rebalancer(str(path)).evict(seen).tolist()]


def named(pods: Sequence[Object]) -> list[str]:
    """Pods as the store calls them."""
    return [
        f"{one['metadata'].get('namespace', 'default')}/{one['metadata']['name']}" for one in pods
    ]


def _whole(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Rows with the columns that no row states."""
    lacking = [pl.lit(None, pl.String).alias(one) for one in columns if one not in rows.columns]
    return rows.with_columns(lacking)


def _amounts(
    rows: pl.DataFrame, of: str, names: Sequence[str], column: str, resources: Sequence[str]
) -> Any:
    found = np.zeros((len(names), len(resources)), dtype=np.int64)
    place = {name: at for at, name in enumerate(names)}
    for name, resource, value in rows.select(of, "resource", column).iter_rows():
        if resource in resources and value is not None:
            factor = _UNITS.get(resource, (resource, 1))[1]
            found[place[name], resources.index(resource)] = round(value * factor)
    return found


def _used(metrics: Sequence[Object]) -> dict[str, tuple[float, float]]:
    """Millicores and bytes by node, or by pod."""
    found = {}
    for one in metrics:
        meta, parts = one["metadata"], one.get("containers", [one])
        name = f"{meta['namespace']}/{meta['name']}" if "containers" in one else meta["name"]
        each = [
            (1000 * amount(part["usage"]["cpu"]), amount(part["usage"]["memory"])) for part in parts
        ]
        found[name] = tuple(map(sum, zip(*each, strict=True)))
    return found  # type: ignore[return-value]
