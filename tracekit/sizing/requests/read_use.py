"""Reads recorded use and requests of the containers of a store."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.files.places import place
from tracekit.base.units import MILLI_PER_CORE
from tracekit.cluster.assembly.sizes import Sizes, amounts_of, sizes_of, used_by_others
from tracekit.cluster.assembly.use import CONTAINERS, measured, sampled
from tracekit.cluster.assumptions import SizedAssumptions
from tracekit.cluster.request_table import Fixed, fixed_of
from tracekit.cluster.resources import BASE, CPU
from tracekit.cluster.series import steps_between
from tracekit.intake.sources import is_published
from tracekit.sizing.read import STATES
from tracekit.sizing.requests import By
from tracekit.sizing.use import RecordedUse
from tracekit.store.folder import Store
from tracekit.store.never_ran import never_ran

#: Cores of a millicore, and bytes of a byte.
_UNITS = np.array([1.0 / MILLI_PER_CORE, 1.0])

#: The hint for a store with calls.
_CALLS = "--by calls simulates the call chains of the store"
#: The hint for a published trace.
_PUBLISHED = (
    "the trace has none that was taken in: replay and nodes go by requests alone; tracekit list"
    " sources names the traces"
)
#: The hints for a store with use at one time alone: of Kubernetes, and of another source.
_RECORD_MORE = "record more: tracekit fetch prometheus URL FOLDER --from now-1d"
_TAKE_IN_MORE = "take in files of use at more times: tracekit ingest FOLDER STORE"
#: The hint for one's own cluster.
_OWN = (
    "take in what kubectl lists beside what Prometheus recorded: tracekit fetch kubernetes DIR,"
    " tracekit fetch prometheus URL DIR, tracekit ingest DIR STORE"
)


class NoUseError(TracekitError):
    """The error for a store without recorded use, from which requests are recommended."""


def read_use(store: Store) -> RecordedUse:
    """Read requests, lifetimes and samples of every listed container that ran.

    Raises
    ------
    NoUseError
        If the store has no list of containers, no use of them, or use at one time alone.
    """
    span = measured(store, CONTAINERS)
    listed = any(entry.rows for entry in store.manifest.parts("container"))
    if span is None or not listed:
        published = any(is_published(entry.release) for entry in store.manifest.sources)
        calls = any(entry.rows for entry in store.manifest.parts("call"))
        raise NoUseError(
            f"{store.path} has no {'use of its' if listed else 'list of'} containers, from which"
            " requests are recommended",
            hint=_CALLS if calls else _PUBLISHED if published else _OWN,
        )
    times = steps_between(span.first_ms, span.last_ms, span.step_ms)
    if len(times) < 2:
        raise NoUseError(
            f"{store.path} records use at one time alone, so nothing is left to judge requests by",
            hint=_RECORD_MORE if _is_kubernetes(store) else _TAKE_IN_MORE,
        )
    assumptions, sizes = SizedAssumptions(), _ran(store)
    rows, amounts = sizes.containers, amounts_of(sizes, sizes.nodes["node"].to_list(), assumptions)
    at = [amounts.resources.index(name) for name in BASE]
    request, limit = amounts.request[:, at], amounts.limit[:, at]
    full = np.where(limit > 0, limit, request) if used_by_others(store) else request
    values, with_samples = sampled(
        store,
        CONTAINERS,
        rows["container"],
        full,
        times_ms=times,
        step_ms=span.step_ms,
        assumptions=assumptions,
    )
    values[BASE.index(CPU)] /= MILLI_PER_CORE
    services, service = _services(rows)
    end = int(times[-1]) + span.step_ms
    return RecordedUse(
        services=services,
        service=service,
        **_requests(fixed_of(store, rows["container"].to_list()), request, limit),
        arrival_ms=rows["time_ms"].to_numpy().astype(np.int64),
        departure_ms=rows["departure_ms"].fill_null(end).to_numpy().astype(np.int64),
        times_ms=times,
        step_ms=span.step_ms,
        values=values,
        measured=np.flatnonzero(with_samples).astype(np.int64),
    )


def _is_kubernetes(store: Store) -> bool:
    return any(entry.release == "kubernetes" for entry in store.manifest.sources)


def _requests(of_store: Fixed, request: IntArray, limit: IntArray) -> dict[str, Any]:
    """Own requests and limits of containers, reserved amounts, and the fixed part of these."""
    fixed, reserved = of_store.times(_UNITS), _amounts(request)
    own = np.where(fixed.own_request > 0, fixed.own_request, np.nan)
    return {
        "request": np.where(fixed.has_part, own, reserved),
        "limit": np.where(fixed.has_part, fixed.own_limit, _amounts(limit)),
        "reserved": reserved,
        "fixed": fixed,
    }


def _ran(store: Store) -> Sizes:
    """The sizes of a store, without containers that never had a node."""
    sizes = sizes_of(store)
    ran = sizes.containers.join(never_ran(store), on="container", how="anti", maintain_order="left")
    return dataclasses.replace(sizes, containers=ran)


def goes_by_use(store: str | Path, by: By) -> bool:
    """Return whether ``by`` is 'use' and ``store`` is no folder of call chains, which lacks use."""
    return by == "use" and not (place(store) / STATES).is_file()


def _amounts(given: IntArray) -> FloatArray:
    """Amounts in cores and bytes; NaN for an amount of 0."""
    return np.where(given > 0, given * _UNITS, np.nan)


def _services(rows: pl.DataFrame) -> tuple[tuple[str, ...], IntArray]:
    """The sorted names of services, and the service of each container."""
    names = pl.coalesce("service", "container")
    of = rows.select(names.alias("service"))["service"]
    unique = of.unique().sort()
    at = pl.DataFrame({"service": unique, "at": np.arange(len(unique))})
    joined = rows.select(names.alias("service")).join(
        at, on="service", how="left", maintain_order="left"
    )
    return tuple(unique), joined["at"].to_numpy().astype(np.int64)
