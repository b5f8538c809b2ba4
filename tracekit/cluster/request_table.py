"""Requests from a user's file, reservations of pods with them, and use over requests.

A file has a row for each container or for each service. Columns: ``container`` or ``service``; of
``cpu_cores`` (or ``cpu_milli``) and ``memory_bytes`` at least one; optional limits
``cpu_limit_cores`` (or ``cpu_limit_milli``) and ``memory_limit_bytes``; any other column of numbers
is a resource with the column's name: ``disk_bytes``, ``net_kbit``. An empty field changes nothing.

A scheduler reserves for a pod the larger of its containers' requests and of what init containers
need, and adds the overhead. Source: k8s.io/component-helpers resource/helpers.go, v1.33.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.facts import Fact, remark
from tracekit.cluster.assembly.sizes import in_columns
from tracekit.cluster.assumptions import SizedAssumptions
from tracekit.cluster.declared import Choice
from tracekit.cluster.provenance import ASSUMED, CHOSEN
from tracekit.cluster.request_values import RequestValues
from tracekit.cluster.resources import BASE, CPU, MEMORY
from tracekit.cluster.workload import Workload
from tracekit.store.folder import Store
from tracekit.store.quantities import ABSENT, RECORDED
from tracekit.store.views import read

_KEYS = ("container", "service")
#: Columns by the resource they give, and what one of them is there.
_REQUESTS = {"cpu_cores": (CPU, 1000.0), "cpu_milli": (CPU, 1.0), "memory_bytes": (MEMORY, 1.0)}
_LIMITS = {
    "cpu_limit_cores": (CPU, 1000.0),
    "cpu_limit_milli": (CPU, 1.0),
    "memory_limit_bytes": (MEMORY, 1.0),
}
_SAME = {"net_kbit_per_s": "net_kbit"}
#: More than any node has, and small enough to be added up.
_MOST = 2.0**55


def listed(
    choice: Choice, container_ids: Sequence[str], services: Sequence[str], *, whole: bool
) -> RequestValues:
    """Return the values that a file of requests gives for these containers.

    Parameters
    ----------
    whole : whether recorded fractions of use are fractions of the file's amounts

    Raises
    ------
    TracekitError
        For a file that cannot be read, lacks a needed column, has an amount that is no number,
        names a container twice, or names none of these containers.
    """
    assert choice.place is not None  # noqa: S101 - a file has a place
    path = choice.place
    table = _read(path)
    key = next((name for name in _KEYS if name in table.columns), None)
    sizes = [name for name in table.columns if name in _REQUESTS]
    if key is None or not sizes:
        raise TracekitError(
            f"{path.name} has the columns {', '.join(table.columns)}, not a key and a size",
            hint="container or service; cpu_cores, memory_bytes or both",
        )
    _check_rows(path, table, key)
    amounts = _amounts(path, table, key)
    ids = container_ids if key == "container" else services
    each = pl.DataFrame({key: list(ids)})
    joined = each.join(amounts, on=key, how="left", maintain_order="left")
    hits = each.join(amounts, on=key, how="semi").height
    if not hits:
        raise TracekitError(
            f"{path.name} names none of the {len(ids):,} {key}s that are replayed, but"
            f" '{amounts[key][0]}'",
            hint=f"its {key}s are spelled as in the store: tracekit query STORE usage/node_profile",
        )
    resources = tuple(dict.fromkeys(name.removeprefix("limit ") for name in amounts.columns[1:]))
    nothing = np.full(len(ids), np.nan)

    def columns(prefix: str) -> FloatArray:
        return np.stack(
            [
                joined[f"{prefix}{name}"].to_numpy().astype(np.float64)
                if f"{prefix}{name}" in joined.columns
                else nothing
                for name in resources
            ],
            axis=1,
        )

    return RequestValues(
        resources=resources,
        request=columns(""),
        limit=columns("limit "),
        whole=whole,
        rests=CHOSEN,
        facts={"containers_in_the_file_of_requests": hits},
        remarks=_strangers(path, key, amounts[key], ids),
    )


def _strangers(path: Path, key: str, names: pl.Series, ids: Sequence[str]) -> tuple[Fact, ...]:
    """A fact of containers in the file that are not replayed; their values change nothing."""
    replayed = set(ids)
    strange = [name for name in names.to_list() if name not in replayed]
    if not strange:
        return ()
    return (
        remark(
            "requests_of_strangers",
            len(strange),
            f"{key}s",
            names=strange,
            of=len(names),
            file=path.name,
            nearest=nearest(strange[0], replayed) or None,
        ),
    )


def _read(path: Path) -> pl.DataFrame:
    try:
        if path.suffix == ".parquet":
            return pl.read_parquet(path)
        return pl.read_csv(path, infer_schema_length=None)
    except (PolarsError, OSError) as error:
        first = str(error).strip().splitlines()[0]
        raise TracekitError(
            f"{path.name} cannot be read as {path.suffix[1:]}: {first}",
            hint="a CSV file with a header, or Parquet",
        ) from error


def _check_rows(path: Path, table: pl.DataFrame, key: str) -> None:
    if not table.height:
        raise TracekitError(f"{path.name} has no rows", hint=f"a row for each {key}")
    names = table[key].cast(pl.String)
    if names.null_count():
        at = int(names.is_null().arg_max() or 0)
        raise TracekitError(f"{path.name}, row {at + 1}: no {key}", hint=f"name the {key}")
    twice = names.filter(names.is_duplicated())
    if len(twice):
        raise TracekitError(
            f"{path.name} names {key} '{twice[0]}' {int((names == twice[0]).sum())} times",
            hint=f"one row for each {key}",
        )


def _amounts(path: Path, table: pl.DataFrame, key: str) -> pl.DataFrame:
    """The key as text, requests by resource, and limits by ``limit`` and the resource."""
    _check_once(path, table)
    by_name = {key: table[key].cast(pl.String)}
    for name in table.columns:
        if name in _KEYS:
            continue
        if name in _LIMITS:
            resource, factor = _LIMITS[name]
            by_name[f"limit {resource}"] = _numbers(path, table, name) * factor
        elif name in _REQUESTS:
            resource, factor = _REQUESTS[name]
            by_name[resource] = _numbers(path, table, name) * factor
        elif "limit" in name:
            close = nearest(name, _LIMITS)
            raise TracekitError(
                f"{path.name}: '{name}' is no column of limits; they are {', '.join(_LIMITS)}",
                hint=f"did you mean '{close}'?" if close else None,
            )
        elif table.schema[name].is_numeric():
            by_name[_SAME.get(name, name)] = _numbers(path, table, name)
    amounts = pl.DataFrame(by_name)
    for resource in {name for name, _ in _LIMITS.values()} & set(amounts.columns):
        if f"limit {resource}" in amounts.columns:
            _check_limit(path, amounts, resource)
    return amounts


def _check_once(path: Path, table: pl.DataFrame) -> None:
    """Raise TracekitError where two columns state one amount."""
    for mapping in (_REQUESTS, _LIMITS):
        for resource in dict.fromkeys(name for name, _ in mapping.values()):
            both = [name for name in table.columns if mapping.get(name, ("",))[0] == resource]
            if len(both) > 1:
                raise TracekitError(
                    f"{path.name} has the columns {' and '.join(both)}, which say the same",
                    hint="leave one",
                )


def _check_limit(path: Path, amounts: pl.DataFrame, resource: str) -> None:
    """Raise TracekitError where a limit is below its request, as Kubernetes does."""
    limit = amounts[f"limit {resource}"]
    below = ((limit < amounts[resource]) & (limit > 0)).fill_null(value=False)
    if below.any():
        at = int(below.arg_max() or 0)
        raise TracekitError(
            f"{path.name}, row {at + 1}: the limit of {resource} is {limit[at]:,.0f}, below the"
            f" request of {amounts[resource][at]:,.0f}",
            hint="a limit is the request or more, or an empty field",
        )


def _numbers(path: Path, table: pl.DataFrame, name: str) -> pl.Series:
    """A column of amounts, null where the field is empty."""
    given = table[name]
    numbers = given.cast(pl.Float64, strict=False)
    wrong = (
        (numbers.is_null() & given.is_not_null())
        | ~numbers.is_between(0, _MOST).fill_null(value=True)
        | numbers.is_nan().fill_null(value=False)
    )
    if wrong.any():
        at = int(wrong.arg_max() or 0)
        raise TracekitError(
            f"{path.name}, row {at + 1}: {name} is {given[at]}",
            hint="an amount from 0 on, or an empty field",
        )
    return numbers


_PARTS = ("init", "overhead", "own_request", "own_limit")


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """The init containers' requests and the overhead of pods, which changed requests do not affect.

    Parameters
    ----------
    has_part : bool, shape (containers, 2)
        Whether the pod has init containers or an overhead on record, for CPU and for memory.
    init, overhead : float64, shape (containers, 2)
        In the unit of the other requests; 0 for none.
    own_request, own_limit : float64, shape (containers, 2)
        The sum of the containers' requests, and of their limits, where ``has_part``; NaN for none.
    """

    has_part: BoolArray
    init: FloatArray
    overhead: FloatArray
    own_request: FloatArray
    own_limit: FloatArray

    def reserved(self, request: FloatArray) -> FloatArray:
        """Return ``max(request, init) + overhead``, the amount that is reserved; NaN stays NaN."""
        return np.asarray(np.maximum(request, self.init) + self.overhead)

    def times(self, unit: FloatArray) -> Fixed:
        """Return the amounts multiplied by ``unit``, which converts them to other units."""
        return Fixed(
            has_part=self.has_part, **{name: getattr(self, name) * unit for name in _PARTS}
        )


def nothing_fixed(containers: int) -> Fixed:
    """Return ``Fixed`` for containers without init containers and without an overhead of pods."""
    shape = containers, len(BASE)
    return Fixed(
        has_part=np.zeros(shape, dtype=np.bool_),
        **dict.fromkeys(("init", "overhead"), np.zeros(shape)),
        **dict.fromkeys(("own_request", "own_limit"), np.full(shape, np.nan)),
    )


def fixed_of(store: Store, container_ids: Sequence[str]) -> Fixed:
    """Return the init containers' requests and the overhead of pods that a store records.

    The amounts are in millicores and bytes.
    """
    rows = read(store, "fixed_request").sort("container", "resource", "time_ms")
    rows = rows.unique(["container", "resource"], keep="first", maintain_order=True)
    rows = in_columns(rows, SizedAssumptions(), _PARTS)
    row = pl.DataFrame({"container": list(container_ids)}).with_row_index("row")
    column = pl.DataFrame({"column": BASE}).with_row_index("of")
    rows = rows.join(row, on="container").join(column, on="column")
    rows = rows.with_columns(pl.col("init", "overhead").fill_null(0.0))
    at = rows["row"].to_numpy(), rows["of"].to_numpy()
    none = nothing_fixed(len(container_ids))
    recorded = none.has_part.copy()
    recorded[at] = True
    parts = {name: getattr(none, name).copy() for name in _PARTS}
    for name, values in parts.items():
        values[at] = rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return Fixed(has_part=recorded, **parts)


#: The resources of which use is recorded, in the order of ``BASE``, as facts and studies call them.
MEASURED = ("cpu", "memory")


def use_over_requested(load: Workload) -> Mapping[str, float]:
    """Return the mean use of containers over what they request, by resource.

    Both are summed over the steps from ``settled_ms`` on, and over the containers that run then and
    have recorded use, daemons included. A container that requests nothing counts with its use.

    Returns
    -------
    mapping of str to float
        ``cpu`` and ``memory``. A resource is left out if its use is not recorded, or if its
        requests are neither recorded nor recommended.
    """
    judged = [at for at, name in enumerate(MEASURED) if _is_judged(load, name, BASE[at])]
    if not judged:
        return {}
    used, requested = np.zeros(len(BASE)), np.zeros(len(BASE))
    settled = load.use.times_ms >= load.use.settled_ms
    for step in np.flatnonzero(settled if settled.any() else ~settled).tolist():
        running = np.flatnonzero(load.present(step))
        column = load.use.columns_of(running)
        values, request = (
            load.use.values[:, step, column],
            load.containers.request[running, : len(BASE)].T,
        )
        counted = np.isfinite(values)
        if load.use.recorded is not None:
            counted &= load.use.recorded[:, column]
        used += np.where(counted, values, 0.0).sum(axis=1, dtype=np.float64)
        requested += np.where(counted, request, 0).sum(axis=1, dtype=np.float64)
    return {MEASURED[at]: float(used[at] / requested[at]) for at in judged if requested[at] > 0}


def _is_judged(load: Workload, name: str, column: str) -> bool:
    """Whether use is recorded, and requests are recorded or recommended, of a resource."""
    origins = load.provenance.quantities
    use = {
        origins.get(one, RECORDED) for one in ("use of containers", f"use of containers: {name}")
    }
    requests = {origins.get(one, RECORDED) for one in ("requests", f"requests: {column}")}
    return not use & {ASSUMED, ABSENT} and requests <= {RECORDED, CHOSEN}


def request_changes(before: Workload, after: Workload) -> BoolArray:
    """Return which containers run at the end and must restart for a new CPU or memory request.

    A container that is not in both workloads is not counted.

    Returns
    -------
    bool, shape (containers of ``before``,)
    """
    at = {name: row for row, name in enumerate(after.containers.ids)}
    rows = np.array([at.get(name, -1) for name in before.containers.ids], dtype=np.int64)
    own = slice(0, len(BASE))
    differ = (before.containers.request[:, own] != after.containers.request[rows, own]).any(axis=1)
    return np.asarray(differ & (rows >= 0) & before.present(len(before.use.times_ms) - 1))
