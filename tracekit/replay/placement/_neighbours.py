"""Interference of nodes, all containers of a node being each other's neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tracekit.arrays import FloatArray, IntArray
from tracekit.errors import TracekitError
from tracekit.files.parquet import read_frame
from tracekit.opened import NoFileError
from tracekit.replay.view.snapshot import Container, Placed, Snapshot
from tracekit.units import MILLI_PER_CORE
from tracekit.vcpu.declared import Aggregation
from tracekit.vcpu.pressure import NOTHING
from tracekit.vcpu.sums import sums


@dataclass(frozen=True)
class Profile:
    """CPU and k2 of services; those that are not known have the usual ones."""

    known: Mapping[str, tuple[float, float]]
    cpu: float
    k2: float

    def of(self, service: str) -> tuple[float, float]:
        """CPU fraction and k2 of a service."""
        return self.known.get(service, (self.cpu, self.k2))


@dataclass(frozen=True)
class _Others:
    """Containers that run: node, request in millicores, CPU fraction and k2 of their services."""

    node: IntArray
    size: FloatArray
    cpu: FloatArray
    k2: FloatArray


@dataclass(frozen=True)
class _Sums:
    """Containers together: requests times CPU, requests, and millicores they could have."""

    total: FloatArray
    weight: FloatArray
    room: FloatArray


def of_fit(folder: Path) -> Profile:
    """The profile of a fit's folder; raises TracekitError when it holds none."""
    try:
        table = read_frame(folder / "coefficients.parquet")
        pooled = read_frame(folder / "pooled.parquet")["k2"][0]
    except NoFileError:
        raise
    except (OSError, pl.exceptions.PolarsError):
        raise TracekitError(
            f"policy interference: {folder} holds no fit",
            hint="make one: tracekit fit STORE --out DIR, then interference[fit=DIR]",
        ) from None
    rows = table.select("service", "cpu_mean", pl.col("k2").fill_null(0.0)).iter_rows()
    known = {service: (cpu, k2) for service, cpu, k2 in rows}
    mean = table["cpu_mean"].mean()
    return Profile(known, float(mean or 0.0), float(pooled or 0.0))  # type: ignore[arg-type]


def node_scores(
    snapshot: Snapshot,
    container: Container,
    nodes: IntArray,
    profile: Profile,
    agg: Aggregation,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Interference of nodes before and after placing, and whether they run the service already.

    Returns
    -------
    tuple of float64, shape (nodes,)
        Predicted CPU lost over the node's CPU; 1.0 where the service runs, else 0.0.
    """
    many = len(nodes)
    place = np.full(len(snapshot.allocatable), -1)
    place[nodes] = np.arange(many)
    at, node = _beside(snapshot.placed, place)
    size = snapshot.placed.request[at, 0].astype(np.float64)
    cpu, k2, same = _services(snapshot.placed, at, profile, container.service)
    room = np.maximum(snapshot.allocatable[nodes, 0], 1).astype(np.float64)
    weight = sums(node, size, many)
    total = sums(node, size * cpu, many)
    own_cpu, own_k2 = profile.of(container.service)
    own = float(container.request[0])
    others = _Others(node, size, cpu, k2)
    before = _lost(others, _Sums(total, weight, room), agg)
    after = _lost(others, _Sums(total + own * own_cpu, weight + own, room), agg)
    newcomer = own * own_k2 * _pressed(_Sums(total, weight, room - own), agg)
    runs = sums(node, same, many) > 0
    return before / room, (after + newcomer) / room, runs.astype(np.float64)


def _beside(placed: Placed, place: IntArray) -> tuple[IntArray, IntArray]:
    """The containers on nodes that have a place, and those places; two of shape (some,)."""
    found = place[placed.node]
    at = np.flatnonzero(found >= 0)
    return at, found[at]


def _services(
    placed: Placed, at: IntArray, profile: Profile, service: str
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """CPU and k2 of the containers, and whether they are of the service."""
    every = placed.service[:]
    names = every if len(at) == len(every) else [every[one] for one in at.tolist()]
    same = np.fromiter((name == service for name in names), np.float64, len(at))
    if not profile.known:
        return np.full(len(at), profile.cpu), np.full(len(at), profile.k2), same
    found = np.array([profile.of(name) for name in names], dtype=np.float64).reshape(-1, 2)
    return found[:, 0], found[:, 1], same


def _lost(others: _Others, nodes: _Sums, agg: Aggregation) -> FloatArray:
    """CPU that the containers of each node lose, shape (all nodes,)."""
    at, own = others.node, others.size * others.cpu
    rest = _Sums(
        nodes.total[at] - own, nodes.weight[at] - others.size, nodes.room[at] - others.size
    )
    return sums(at, others.size * others.k2 * _pressed(rest, agg), len(nodes.room))


def _pressed(beside: _Sums, agg: Aggregation) -> FloatArray:
    """The pressure of neighbours, by what they are together."""
    if agg == "sum":
        return np.where(beside.weight > NOTHING, beside.total / MILLI_PER_CORE, 0.0)
    below = beside.weight if agg == "mean" else beside.room
    there = (beside.weight > NOTHING) & (below > NOTHING)
    return np.divide(beside.total, below, out=np.zeros(len(below)), where=there)
