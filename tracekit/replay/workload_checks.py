"""What makes a workload impossible, said in one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracekit.errors import TracekitError
from tracekit.replay.resources import BASE, CPU, MEMORY

if TYPE_CHECKING:
    from tracekit.replay.workload import Workload


def check(workload: Workload) -> None:
    """Raise TracekitError for ids given twice, no capacity, impossible times, unknown usage."""
    _check_unique("node", workload.node_ids)
    _check_unique("container", workload.container_ids)
    _check_capacity(workload)
    _check_times(workload)
    _check_usage(workload)


def _check_unique(kind: str, ids: tuple[str, ...]) -> None:
    if not ids:
        raise TracekitError(f"the workload has no {kind}", hint=f"give at least one {kind}")
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(one for one in ids if one in seen or seen.add(one))  # type: ignore[func-returns-value]
        raise TracekitError(
            f"{kind} '{twice}' is there twice, expected every {kind} once",
            hint=f"a {kind} is one row of the workload's {kind}s",
        )


def _check_capacity(workload: Workload) -> None:
    base = workload.capacity[:, : len(BASE)]
    bad = np.argwhere(base <= 0)
    if len(bad):
        node, column = (int(at) for at in bad[0])
        raise TracekitError(
            f"node '{workload.node_ids[node]}' has {workload.resources[column]}"
            f" {base[node, column]}, expected more than 0",
            hint="leave out nodes without capacity",
        )
    negative = np.argwhere(workload.request < 0)
    if len(negative):
        at, column = (int(where) for where in negative[0])
        raise TracekitError(
            f"container '{workload.container_ids[at]}' requests {workload.request[at, column]}"
            f" {workload.resources[column]}, expected 0 or more"
        )


def _check_times(workload: Workload) -> None:
    wrong = np.flatnonzero(workload.departure_ms <= workload.arrival_ms)
    if len(wrong):
        at = int(wrong[0])
        raise TracekitError(
            f"container '{workload.container_ids[at]}' departs at {workload.departure_ms[at]} ms,"
            f" expected after its arrival at {workload.arrival_ms[at]} ms",
            hint="a departure_ms left empty means that it stays to the end",
        )
    if (np.diff(workload.arrival_ms) < 0).any():
        raise TracekitError("containers of a workload must be in order of arrival")


def _check_usage(workload: Workload) -> None:
    first, until = _due(workload)
    every = np.ones(workload.nodes, dtype=np.bool_)
    for step, now in enumerate(workload.times_ms.tolist()):
        there = (first <= step) & (step < until)
        for kind, ids, due, amounts in (
            ("container", workload.container_ids, there, workload.use_at(step)),
            ("node", workload.node_ids, every, workload.background[:, step]),
        ):
            at = _first_bad(due, amounts)
            if at is not None:
                cpu, memory = amounts[:, at]
                raise TracekitError(
                    f"{kind} '{ids[at]}' uses {cpu:g} {CPU} and {memory:g} {MEMORY} at {now} ms,"
                    " expected numbers of 0 or more",
                    hint="usage must be a number wherever the container is there",
                )


def _due(workload: Workload) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The steps at which the usage of each container must be known: from one, and below one."""
    first = np.searchsorted(workload.times_ms, workload.arrival_ms).astype(np.int32)
    if workload.exchangeable is not None:
        first[workload.exchangeable] = 0
    return first, np.searchsorted(workload.times_ms, workload.departure_ms).astype(np.int32)


def _first_bad(there: NDArray[np.bool_], amounts: NDArray[np.float32]) -> int | None:
    """Of what is there, the first with an amount that is no number of 0 or more."""
    cpu, memory = ((amount >= 0) & (amount < np.inf) for amount in amounts)
    bad = there & ~(cpu & memory)
    return int(np.argmax(bad)) if bad.any() else None


def check_feasible(workload: Workload) -> None:
    """Raise TracekitError when no container fits on any node, even an empty one.

    Some that fit on none are no error: they wait to the end, and are counted.
    """
    large = workload.too_large()
    if len(large) == workload.containers:
        raise TracekitError(
            f"no container of workload '{workload.name}' fits on any node: {too_large(workload)}",
            hint="check the units: millicores and bytes",
        )


def too_large(workload: Workload) -> str | None:
    """A clause about containers that fit on no node, None where there are none."""
    large = workload.too_large()
    if not len(large):
        return None
    asked = workload.request[large[0]]
    column = int(np.argmax(asked / np.maximum(workload.capacity.max(axis=0), 1)))
    name = workload.resources[column]
    return (
        f"'{workload.container_ids[large[0]]}' requests {asked[column]:,} {name},"
        f" the largest node has {workload.capacity[:, column].max():,}"
    )
