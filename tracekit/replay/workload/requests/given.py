"""The assumption ``requests`` put to work: on the containers of a trace, or on a workload."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from tracekit.arrays import IntArray
from tracekit.replay.workload.request_choice import Choice, choice_of
from tracekit.replay.workload.requests.asked import Asked, Told, overlaid, uniform
from tracekit.replay.workload.requests.chosen import chosen
from tracekit.replay.workload.requests.inferred import inferred
from tracekit.replay.workload.requests.table import listed
from tracekit.replay.workload.resources import BASE
from tracekit.replay.workload.rests_on import requests_rest_on
from tracekit.replay.workload.workload import Workload, nonzero
from tracekit.store import Store
from tracekit.units import MILLI_PER_CORE


class WithRequests(Protocol):
    """Assumptions that say where requests come from."""

    @property
    def requests(self) -> str:
        """The choice, as text."""

    @property
    def request_cpu_cores(self) -> float:
        """CPU of one size for all."""

    @property
    def request_memory_bytes(self) -> int:
        """Memory of one size for all."""

    @property
    def limit_factor(self) -> float:
        """Limit over request."""


def request_of(assumptions: WithRequests) -> IntArray:
    """The one size for all: millicores and bytes."""
    return np.array(
        [round(assumptions.request_cpu_cores * MILLI_PER_CORE), assumptions.request_memory_bytes],
        dtype=np.int64,
    )


def laid_over(
    choice: Choice,
    asked: Asked,
    store: Store,
    *,
    container_ids: Sequence[str],
    services: Sequence[str],
    capacity: IntArray,
    limit_factor: float,
    of_use: bool,
) -> Asked:
    """What containers ask for once the choice has its say.

    Parameters
    ----------
    asked : Asked
        What they ask for otherwise.
    container_ids, services : in the order of ``asked``
    of_use : bool
        Whether nothing but this choice says what use is a fraction of.

    Raises
    ------
    TracekitError
        When the choice says nothing, or nonsense.
    """
    told: Told
    if choice.kind == "inferred":
        told = inferred(store, services, capacity, limit_factor, of_use=of_use)
    elif choice.kind == "sized":
        told = chosen(choice, container_ids, services, asked.full)
    elif choice.kind == "file":
        told = listed(choice, container_ids, services, whole=of_use)
    else:
        return asked
    return overlaid(asked, told, limit_factor)


def with_requests(load: Workload, store: Store, assumptions: WithRequests) -> Workload:
    """A workload of recorded sizes and use with the requests that the assumptions choose.

    Its use stays what was recorded, whatever is asked for.

    Raises
    ------
    TracekitError
        When the choice says nothing, or nonsense.
    """
    choice = choice_of(assumptions.requests, recorded=True)
    if choice.kind == "recorded":
        return load
    asked = _asked(load, choice, assumptions)
    asked = laid_over(
        choice,
        asked,
        store,
        container_ids=load.container_ids,
        services=load.services,
        capacity=load.capacity,
        limit_factor=assumptions.limit_factor,
        of_use=False,
    )
    return dataclasses.replace(
        load,
        request=asked.request,
        nonzero_request=nonzero(asked.request, asked.stated, asked.resources),
        limit=asked.limit,
        doubt=asked.doubt,
        quantities={**load.quantities, **requests_rest_on(asked.rests)},
        facts={**load.facts, **asked.facts},
        told=(*load.told, *asked.said),
    )


def _asked(load: Workload, choice: Choice, assumptions: WithRequests) -> Asked:
    """What the containers of a workload ask for before the choice has its say."""
    request, limit = load.request.copy(), load.limit.copy()
    rests = dict.fromkeys(load.resources, "recorded")
    if choice.kind == "uniform":
        plain = uniform(load.containers, request_of(assumptions), assumptions.limit_factor)
        free = slice(None) if load.daemon is None else ~load.daemon
        request[free, : len(BASE)] = plain.request[free]
        limit[free, : len(BASE)] = plain.limit[free]
        rests |= plain.rests
    return Asked(
        resources=load.resources,
        request=request,
        limit=limit,
        stated=load.nonzero_request == request,
        full=request[:, : len(BASE)].astype(np.float64),
        rests=rests,
    )
