"""What the store has, in the terms of a folder's file: its columns, units and kind of times."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from tracekit.sources._stood import as_it_stands
from tracekit.sources.own._folder.columns import LABEL, LIMIT, Measure
from tracekit.units import in_stored_unit

#: When a container is there, which both of its tables have, and what a folder's file calls it.
_ARRIVAL = {"time_ms": "arrival_ms"}
_SINCE = datetime(1970, 1, 1, tzinfo=UTC)


def in_terms_of(
    row: Mapping[str, object], found: Mapping[str, object], measures: Sequence[Measure] | None
) -> tuple[str, object, object]:
    """The column of the file, the value as it stands there, and what the store has as one of it.

    Parameters
    ----------
    row : the row of the file
    found : ``resource``, None for none; ``column`` of the table; its values ``now`` and ``first``
    measures : the columns of a wide file that hold amounts; None of a table of the store's own
    """
    column, first = str(found["column"]), found["first"]
    if found["resource"] is not None:
        if measures is None:
            return _with_unit(row, str(found["resource"]), column, first)
        wanted = f"{found['resource']}{LIMIT if column == 'limit' else ''}"
        measure = next(one for one in measures if one.resource == wanted)
        kept = None if first is None else _plain(float(str(first)) * measure.per_unit)
        return measure.column, as_it_stands(row, measure.column), kept
    named = column if column in row else _ARRIVAL.get(column, column)
    if named not in row and column == "labels":
        return _label(row, json.loads(str(found["now"])), json.loads(str(first)))
    if named not in row:
        return named, found["now"], first
    now = as_it_stands(row, named)
    if first is None or not named.endswith("_ms"):
        return named, now, first
    return named, now, _dated(first) if now != row[named] else _plain(float(str(first)))


def _label(
    row: Mapping[str, object], now: Mapping[str, object], first: Mapping[str, object]
) -> tuple[str, object, object]:
    """The first label that is another one; further columns of texts of a wide file are labels."""
    key = next(one for one in now if one in first and str(first[one]) != str(now[one]))
    return (key if key in row else f"{LABEL}{key}"), now[key], first[key]


def _with_unit(
    row: Mapping[str, object], resource: str, column: str, first: object
) -> tuple[str, object, object]:
    """An amount and its unit, as the file states them."""
    unit = str(as_it_stands(row, "unit"))
    _, times, per = in_stored_unit(resource, unit) or (unit, 1, 1)
    kept = None if first is None else f"{_plain(float(str(first)) * per / times)} {unit}"
    return column, f"{as_it_stands(row, column)} {unit}", kept


def _plain(value: float) -> str:
    return f"{value:.15g}"


def _dated(ms: object) -> object:
    """A time as it is written out."""
    return (_SINCE + timedelta(milliseconds=float(str(ms)))).isoformat().replace("+00:00", "Z")
