"""Requests from a user's file, with a row for each container or for each service.

Columns: ``container`` or ``service``; of ``cpu_cores`` (or ``cpu_milli``) and ``memory_bytes`` at
least one; optional limits ``cpu_limit_cores`` (or ``cpu_limit_milli``) and ``memory_limit_bytes``;
any other column of numbers is a resource with the column's name: ``disk_bytes``, ``net_kbit``. An
empty field changes nothing.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from tracekit.base.arrays import FloatArray
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.facts import Fact, remark
from tracekit.cluster.provenance import CHOSEN
from tracekit.cluster.request_choice import Choice
from tracekit.cluster.requests.overlaid import RequestValues
from tracekit.cluster.resources import CPU, MEMORY

_KEYS = ("container", "service")
#: Columns by the resource they give, and what one of them is there.
_REQUESTS = {"cpu_cores": (CPU, 1000.0), "cpu_milli": (CPU, 1.0), "memory_bytes": (MEMORY, 1.0)}
_LIMITS = {
    "cpu_limit_cores": (CPU, 1000.0),
    "cpu_limit_milli": (CPU, 1.0),
    "memory_limit_bytes": (MEMORY, 1.0),
}
_SAME = {"net_kbit_per_s": "net_kbit"}
#: This many unknown names are listed; further ones are counted.
_NAMED = 4
#: More than any node has, and small enough to be added up.
_MOST = 2.0**55


def listed(
    choice: Choice, container_ids: Sequence[str], services: Sequence[str], *, whole: bool
) -> RequestValues:
    """The file's values for these containers.

    Parameters
    ----------
    whole : whether fractions of use are of the file's amounts

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
    found = each.join(amounts, on=key, how="left", maintain_order="left")
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
                found[f"{prefix}{name}"].to_numpy().astype(np.float64)
                if f"{prefix}{name}" in found.columns
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
    known = set(ids)
    strange = [name for name in names.to_list() if name not in known]
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
            nearest=nearest(strange[0], known) or None,
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
    found = {key: table[key].cast(pl.String)}
    for name in table.columns:
        if name in _KEYS:
            continue
        if name in _LIMITS:
            resource, factor = _LIMITS[name]
            found[f"limit {resource}"] = _numbers(path, table, name) * factor
        elif name in _REQUESTS:
            resource, factor = _REQUESTS[name]
            found[resource] = _numbers(path, table, name) * factor
        elif "limit" in name:
            close = nearest(name, _LIMITS)
            raise TracekitError(
                f"{path.name}: '{name}' is no column of limits; they are {', '.join(_LIMITS)}",
                hint=f"did you mean '{close}'?" if close else None,
            )
        elif table.schema[name].is_numeric():
            found[_SAME.get(name, name)] = _numbers(path, table, name)
    amounts = pl.DataFrame(found)
    for resource in {name for name, _ in _LIMITS.values()} & set(amounts.columns):
        if f"limit {resource}" in amounts.columns:
            _check_limit(path, amounts, resource)
    return amounts


def _check_once(path: Path, table: pl.DataFrame) -> None:
    """Raise TracekitError where two columns state one amount."""
    for known in (_REQUESTS, _LIMITS):
        for resource in dict.fromkeys(name for name, _ in known.values()):
            both = [name for name in table.columns if known.get(name, ("",))[0] == resource]
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
