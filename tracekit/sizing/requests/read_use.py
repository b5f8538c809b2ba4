"""Reading recorded use and requests out of a store that lists its containers."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.files.places import place
from tracekit.base.units import MILLI_PER_CORE
from tracekit.cluster.assembly.amounts import amounts_of
from tracekit.cluster.assembly.assumptions import SizedAssumptions
from tracekit.cluster.assembly.sizes import Sizes, sizes_of, used_by_others
from tracekit.cluster.assembly.use import CONTAINERS, measured, sampled
from tracekit.cluster.requests.reserved import Fixed, fixed_of
from tracekit.cluster.resources import BASE, CPU
from tracekit.cluster.series import steps_between
from tracekit.intake.sources import is_published
from tracekit.sizing.read import STATES
from tracekit.sizing.requests.declared import By
from tracekit.sizing.use import RecordedUse
from tracekit.store.folder import Store
from tracekit.store.never_ran import never_ran

#: Cores of a millicore, and bytes of a byte.
_UNITS = np.array([1.0 / MILLI_PER_CORE, 1.0])

#: What helps where calls are recorded.
_CALLS = "--by calls simulates the call chains of the store"
#: What helps, for a published trace and for a cluster of one's own.
_PUBLISHED = (
    "the trace has none that was taken in: replay and nodes go by requests alone; tracekit list"
    " sources names the traces"
)
#: What helps where use is recorded at one time alone, for a cluster whose use Prometheus has.
_RECORD_MORE = "record more: tracekit fetch prometheus URL FOLDER --from now-1d"
_TAKE_IN_MORE = "take in files of use at more times: tracekit ingest FOLDER STORE"
_OWN = (
    "take in what kubectl lists beside what Prometheus recorded: tracekit fetch kubernetes DIR,"
    " tracekit fetch prometheus URL DIR, tracekit ingest DIR STORE"
)


class NoUseError(TracekitError):
    """A store has nothing by which requests could be recommended."""


def read_use(store: Store) -> RecordedUse:
    """Requests, life and samples of every container that is listed and ran.

    Raises
    ------
    NoUseError
        Where the store lists no containers, or records no use of them, or at one time alone.
    """
    span = measured(store, CONTAINERS)
    listed = any(entry.rows for entry in store.manifest.parts("container"))
    if span is None or not listed:
        published = any(is_published(entry.release) for entry in store.manifest.sources)
        calls = any(entry.rows for entry in store.manifest.parts("call"))
        raise NoUseError(
            f"{store.path} has no {'use of its' if listed else 'list of'} containers, by which"
            " requests are recommended",
            hint=_CALLS if calls else _PUBLISHED if published else _OWN,
        )
    times = steps_between(span.first_ms, span.last_ms, span.step_ms)
    if len(times) < 2:
        raise NoUseError(
            f"{store.path} records use at one time alone, so nothing is left to judge requests by",
            hint=_RECORD_MORE if _is_kubernetes(store) else _TAKE_IN_MORE,
        )
    assumptions, found = SizedAssumptions(), _ran(store)
    rows, amounts = found.containers, amounts_of(found, found.nodes["node"].to_list(), assumptions)
    at = [amounts.resources.index(name) for name in BASE]
    request, limit = amounts.request[:, at], amounts.limit[:, at]
    full = np.where(limit > 0, limit, request) if used_by_others(store) else request
    values, spoken = sampled(
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
        **_asked(fixed_of(store, rows["container"].to_list()), request, limit),
        arrival_ms=rows["time_ms"].to_numpy().astype(np.int64),
        departure_ms=rows["departure_ms"].fill_null(end).to_numpy().astype(np.int64),
        times_ms=times,
        step_ms=span.step_ms,
        values=values,
        measured=_positions(spoken),
    )


def _is_kubernetes(store: Store) -> bool:
    return any(entry.release == "kubernetes" for entry in store.manifest.sources)


def _asked(kept: Fixed, request: IntArray, limit: IntArray) -> dict[str, Any]:
    """What containers ask for themselves, what is reserved for them, and what of it stays."""
    fixed, reserved = kept.times(_UNITS), _amounts(request)
    own = np.where(fixed.own_request > 0, fixed.own_request, np.nan)
    return {
        "request": np.where(fixed.known, own, reserved),
        "limit": np.where(fixed.known, fixed.own_limit, _amounts(limit)),
        "reserved": reserved,
        "fixed": fixed,
    }


def _ran(store: Store) -> Sizes:
    """The store's sizes, without containers that never had a node."""
    found = sizes_of(store)
    ran = found.containers.join(never_ran(store), on="container", how="anti", maintain_order="left")
    return dataclasses.replace(found, containers=ran)


def goes_by_use(store: str | Path, by: By) -> bool:
    """Whether requests are recommended from use; a folder of call chains has none."""
    return by == "use" and not (place(store) / STATES).is_file()


def _amounts(given: IntArray) -> FloatArray:
    """Cores and bytes; nothing where nothing is asked for."""
    return np.where(given > 0, given * _UNITS, np.nan)


def _positions(spoken: BoolArray) -> IntArray:
    return np.flatnonzero(spoken).astype(np.int64)


def _services(rows: pl.DataFrame) -> tuple[tuple[str, ...], IntArray]:
    """Names in the order of the alphabet, and which each container is of."""
    names = pl.coalesce("service", "container")
    of = rows.select(names.alias("service"))["service"]
    unique = of.unique().sort()
    at = pl.DataFrame({"service": unique, "at": np.arange(len(unique))})
    found = rows.select(names.alias("service")).join(
        at, on="service", how="left", maintain_order="left"
    )
    return tuple(unique), found["at"].to_numpy().astype(np.int64)
