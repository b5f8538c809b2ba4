"""Checks that a workload is possible; each error is one line."""

from collections.abc import Mapping, Sequence

import numpy as np

from tracekit.base.arrays import BoolArray, Float32Array, IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.resources import BASE, CPU, MEMORY


def check_unique(kind: str, ids: tuple[str, ...]) -> None:
    """Raise TracekitError if there is no id, or one occurs twice."""
    if not ids:
        raise TracekitError(f"the workload has no {kind}", hint=f"give at least one {kind}")
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(one for one in ids if one in seen or seen.add(one))  # type: ignore[func-returns-value]
        raise TracekitError(
            f"{kind} '{twice}' is there twice, expected every {kind} once",
            hint=f"a {kind} is one row of the workload's {kind}s",
        )


def check_amounts(
    capacity: IntArray,
    request: IntArray,
    resources: tuple[str, ...],
    node_ids: tuple[str, ...],
    container_ids: tuple[str, ...],
) -> None:
    """Raise TracekitError for a node without cpu or memory, and for a negative request.

    Parameters
    ----------
    capacity, request : shape (nodes, resources), (containers, resources)
    """
    base = capacity[:, : len(BASE)]
    bad = np.argwhere(base <= 0)
    if len(bad):
        node, column = (int(at) for at in bad[0])
        raise TracekitError(
            f"node '{node_ids[node]}' has {resources[column]}"
            f" {base[node, column]}, expected more than 0",
            hint="leave out nodes without capacity",
        )
    negative = np.argwhere(request < 0)
    if len(negative):
        at, column = (int(where) for where in negative[0])
        raise TracekitError(
            f"container '{container_ids[at]}' requests {request[at, column]}"
            f" {resources[column]}, expected 0 or more"
        )


def check_times(
    arrival_ms: IntArray, departure_ms: IntArray, container_ids: tuple[str, ...]
) -> None:
    """Raise TracekitError for a container that departs before it arrives, or is out of order."""
    wrong = np.flatnonzero(departure_ms <= arrival_ms)
    if len(wrong):
        at = int(wrong[0])
        raise TracekitError(
            f"container '{container_ids[at]}' departs at {departure_ms[at]} ms,"
            f" expected after its arrival at {arrival_ms[at]} ms",
            hint="a departure_ms left empty means that it stays to the end",
        )
    if (np.diff(arrival_ms) < 0).any():
        raise TracekitError("containers of a workload must be in order of arrival")


def check_per_container(
    containers: int, nodes: int, pinned: IntArray | None, lengths: Mapping[str, int]
) -> None:
    """Raise TracekitError if an array has another length, or pins a container to no node."""
    for name, length in lengths.items():
        if length != containers:
            raise TracekitError(f"{name} has {length} entries, expected {containers}")
    if pinned is not None and ((pinned < -1) | (pinned >= nodes)).any():
        at = int(np.flatnonzero((pinned < -1) | (pinned >= nodes))[0])
        raise TracekitError(
            f"container {at} is pinned to node {pinned[at]}, expected -1 or a number below {nodes}"
        )


def nothing_observed() -> TracekitError:
    """The error of a replay with ``start=observed`` of a workload without recorded nodes."""
    return TracekitError(
        "start=observed, but of nothing that was there at the beginning it is known where it ran",
        hint="leave out --start: everything is placed anew",
    )


def all_sound(amounts: Float32Array) -> bool:
    """Whether every amount is a number of 0 or more, needed or not; this is quick."""
    return amounts.size == 0 or bool(amounts.min() >= 0 and amounts.max() < np.inf)


def check_further(
    usage: Float32Array | None, used: tuple[int, ...], like: tuple[int, ...], names: Sequence[str]
) -> None:
    """Raise TracekitError where use of further resources has a wrong shape, column or value.

    Parameters
    ----------
    usage : float32, shape (used, steps, columns), or None
    like : shape of the use of CPU and memory
    """
    found = (0, *like[1:]) if usage is None else usage.shape
    if found != (len(used), *like[1:]):
        raise TracekitError(
            f"further_usage has shape {found}, expected {(len(used), *like[1:])}:"
            " resources, steps and columns"
        )
    if not set(used) <= set(range(2, len(names))):
        raise TracekitError(f"further_used is {used}, expected columns 2 to {len(names) - 1}")
    for resource, amounts in zip(used, () if usage is None else usage, strict=True):
        wrong = amounts[(amounts < 0) | np.isinf(amounts)]
        if len(wrong):
            raise TracekitError(f"use of {names[resource]} is {wrong[0]:g}, expected 0 or more")


def check_usage(
    kind: str,
    ids: tuple[str, ...],
    due: BoolArray,
    amounts: Float32Array,
    now_ms: int,
) -> None:
    """Raise TracekitError for needed use that is no number of 0 or more.

    Parameters
    ----------
    due : bool, shape (ids,); whether the use is needed
    amounts : shape (2, ids), of CPU and memory
    """
    at = _first_bad(due, amounts)
    if at is not None:
        cpu, memory = amounts[:, at]
        raise TracekitError(
            f"{kind} '{ids[at]}' uses {cpu:g} {CPU} and {memory:g} {MEMORY} at {now_ms} ms,"
            " expected numbers of 0 or more",
            hint="usage must be a number wherever the container is there",
        )


def _first_bad(there: BoolArray, amounts: Float32Array) -> int | None:
    """The first entry with an amount that is no number of 0 or more."""
    cpu, memory = ((amount >= 0) & (amount < np.inf) for amount in amounts)
    bad = there & ~(cpu & memory)
    return int(np.argmax(bad)) if bad.any() else None
