"""Gangs: containers that are admitted together or not at all, as an option of any policy.

A gang is a service's containers that were there from the start: they arrive together, at the
earliest of their times, and none runs before there is room for every one. Source of the rule:
scheduler-plugins 903da7df pkg/coscheduling (PodGroup with minMember equal to its size); here the
permit phase takes no time, as nothing else happens between two members of a gang.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from tracekit.arrays import IntArray
from tracekit.replay.workload.workload import Workload


def with_gangs(load: Workload) -> Workload:
    """The workload with a gang for each service of which several containers are exchangeable."""
    if load.exchangeable is None or not load.exchangeable.any():
        return dataclasses.replace(load, gang=np.full(load.containers, -1, dtype=np.int64))
    _, service = np.unique(np.array(load.services), return_inverse=True)
    free = np.flatnonzero(load.exchangeable)
    members = np.bincount(service[free], minlength=int(service.max()) + 1)
    gang = np.where(load.exchangeable & (members[service] > 1), service, -1)
    arrival = load.arrival_ms.copy()
    first = np.full(len(members), np.iinfo(np.int64).max)
    np.minimum.at(first, service[free], arrival[free])
    arrival = np.where(gang >= 0, first[service], arrival)
    order = np.lexsort((np.arange(load.containers), gang, arrival))
    return in_order_of(load, order, arrival, gang[order])


def in_order_of(
    load: Workload, order: IntArray, arrival_ms: IntArray, gang: IntArray | None = None
) -> Workload:
    """The workload with its containers in another order; the matrix of usage stays as it is.

    Parameters
    ----------
    arrival_ms : int64, shape (containers,)
        New times of arrival, in the order that the workload has now.
    gang : int64, shape (containers,), optional
        In the new order.
    """
    return dataclasses.replace(
        load,
        container_ids=tuple(load.container_ids[at] for at in order),
        services=tuple(load.services[at] for at in order),
        recorded_node=load.recorded_node[order],
        arrival_ms=arrival_ms[order],
        departure_ms=load.departure_ms[order],
        gang=gang,
        request=load.request[order],
        nonzero_request=load.nonzero_request[order],
        limit=load.limit[order],
        usage_column=order if load.usage_column is None else load.usage_column[order],
        exchangeable=None if load.exchangeable is None else load.exchangeable[order],
        calls=None
        if load.calls is None
        else dataclasses.replace(load.calls, kind=load.calls.kind[order]),
    )


def runs(gang: IntArray) -> list[tuple[int, int]]:
    """Stretches of one gang, or of containers without any: first, and one after the last."""
    cuts = np.flatnonzero(np.diff(gang)) + 1
    edges = [0, *cuts.tolist(), len(gang)]
    return [(start, end) for start, end in itertools.pairwise(edges) if end > start]
