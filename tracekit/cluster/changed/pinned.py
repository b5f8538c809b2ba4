"""Containers that a replay leaves on the node where they were observed."""

import operator

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.resources import amount_text
from tracekit.cluster.workload import Workload


def requests_respected(load: Workload) -> bool:
    """Whether no node can get more requests than it has, under policies that respect requests.

    A node can if the containers pinned to it are too many, or come after those that policies place.
    """
    if load.rules.pinned is None:
        return True
    pinned = load.rules.pinned >= 0
    return not (np.diff(pinned.astype(np.int8)) > 0).any() and not pinned_over_capacity(load)


def pinned_over_capacity(load: Workload) -> int:
    """How many pinned containers find too little room beside the containers pinned before them.

    Containers that a policy placed or a rebalancer moved there are not considered.
    """
    if load.rules.pinned is None:
        return 0
    return over_capacity(
        load.rules.pinned,
        load.nodes.allocatable,
        load.containers.request,
        load.containers.arrival_ms,
        load.containers.departure_ms,
    )


def recorded_over_capacity(load: Workload) -> int:
    """How many containers found too little room for their request where production ran them."""
    return over_capacity(
        load.containers.recorded_node,
        load.nodes.allocatable,
        load.containers.request,
        load.containers.arrival_ms,
        load.containers.departure_ms,
    )


def over_capacity(
    pinned: IntArray,
    capacity: IntArray,
    request: IntArray,
    arrival_ms: IntArray,
    departure_ms: IntArray,
) -> int:
    """The count of ``pinned_over_capacity``, from the arrays of a workload.

    Parameters
    ----------
    pinned, arrival_ms, departure_ms : int64, shape (containers,)
        In order of arrival; ``pinned`` is -1 for a container that a policy places.
    capacity : int64, shape (nodes, resources)
    request : int64, shape (containers, resources)
    """
    those = np.flatnonzero(pinned >= 0)
    leaving = those[np.argsort(departure_ms[those], kind="stable")].tolist()
    node, asked = pinned.tolist(), request.tolist()
    arrives, leaves = arrival_ms.tolist(), departure_ms.tolist()
    free, gone, over = capacity.tolist(), 0, 0
    for index in those.tolist():
        while gone < len(leaving) and leaves[leaving[gone]] <= arrives[index]:
            left = leaving[gone]
            free[node[left]] = list(map(operator.add, free[node[left]], asked[left]))
            gone += 1
        room = list(map(operator.sub, free[node[index]], asked[index]))
        over += any(left < 0 < wanted for left, wanted in zip(room, asked[index], strict=True))
        free[node[index]] = room
    return over


def check_feasible(workload: Workload) -> None:
    """Raise TracekitError when no container fits on any node, even an empty one.

    If only some fit on no node that is no error: they wait to the end, and are counted.
    """
    large = workload.too_large()
    if len(large) == workload.containers.count:
        raise TracekitError(
            f"no container of workload '{workload.name}' fits on any node: {too_large(workload)}",
            hint="check the units: millicores and bytes",
        )


def too_large(workload: Workload) -> str | None:
    """A clause about containers that fit on no node; None if each fits on some."""
    large = workload.too_large()
    if not len(large):
        return None
    asked = workload.containers.request[large[0]]
    room = workload.nodes.allocatable.max(axis=0)
    column = int(np.argmax(asked / np.maximum(room, 1)))
    name = workload.resources[column]
    left = "" if workload.nodes.reserved is None else " left for requests"
    return (
        f"'{workload.containers.ids[large[0]]}' requests {amount_text(asked[column], name)},"
        f" the largest node has {amount_text(room[column], name)}{left}"
    )
