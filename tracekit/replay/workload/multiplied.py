"""More load, or less: a workload whose number of containers is multiplied."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np

from tracekit.arrays import IntArray
from tracekit.errors import TracekitError
from tracekit.replay.workload.gangs import in_order_of
from tracekit.replay.workload.workload import Workload


def scale_of(value: float) -> Fraction:
    """A scale as the fraction that its decimal digits are; TracekitError unless above 0."""
    if not 0 < value < float("inf"):
        raise TracekitError(
            f"--scale {value:g} is no number above 0", hint="for example --scale 1.3"
        )
    return Fraction(str(value))


def multiplied(load: Workload, scale: Fraction) -> Workload:
    """The workload with ``scale`` times as many containers, of the sizes there are.

    Load grows by replicas and not by larger containers, as services do that scale out. Containers
    are counted service by service, in order of arrival: the first n of them become
    floor(n * scale), so that every service grows alike but for one container. A replica is its
    original in everything: requests, use over time, times, gang, rules, recorded node; it is pinned
    nowhere. Daemons belong to nodes and are not multiplied; the background stays as it is.
    """
    if scale == 1:
        return load
    copies = _copies(load, scale)
    order = np.repeat(np.arange(load.containers), copies)
    replica = np.arange(len(order)) - np.repeat(np.cumsum(copies) - copies, copies)
    gang = np.full(len(order), -1) if load.gang is None else load.gang[order]
    # replicas follow all that arrive at their time, but in gangs, which stay in one piece
    late = np.where(gang < 0, replica, 0)
    after = np.lexsort((np.arange(len(order)), late, load.arrival_ms[order]))
    order, replica = order[after], replica[after]
    made = in_order_of(load, order, load.arrival_ms, _names(load, order, replica))
    if made.pinned is None:
        return made
    return dataclasses.replace(made, pinned=np.where(replica > 0, -1, made.pinned))


def _copies(load: Workload, scale: Fraction) -> IntArray:
    """How often each container is there, shape (containers,)."""
    copies = np.ones(load.containers, dtype=np.int64)
    free = np.arange(load.containers) if load.daemon is None else np.flatnonzero(~load.daemon)
    _, service = np.unique(np.array(load.services, dtype=object), return_inverse=True)
    counted = free[np.argsort(service[free], kind="stable")]
    whole = [at * scale.numerator // scale.denominator for at in range(len(counted) + 1)]
    copies[counted] = np.diff(np.array(whole, dtype=np.int64))
    return copies


def _names(load: Workload, order: IntArray, replica: IntArray) -> tuple[str, ...]:
    """Names of replicas, with a number that no container's own name has."""
    taken = set(load.container_ids)
    mark = "+"
    while any(mark in name for name in taken):
        mark += "+"
    return tuple(
        load.container_ids[at] if not number else f"{load.container_ids[at]}{mark}{number}"
        for at, number in zip(order.tolist(), replica.tolist(), strict=True)
    )
