"""Amounts of a folder's tables in the units that the store keeps; another unit is a reject."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.units import SHARE, UNIT_OF, in_stored_unit, known_units, stored_unit
from tracekit.intake.sources._cluster import Broken, Opened
from tracekit.intake.sources._columns import named_frames
from tracekit.intake.sources._rows import Rule, refuse
from tracekit.intake.sources._stood import STOOD
from tracekit.store.tables import all_tables

# What columns of wide tables hold: amounts of resources, whose unit they name, or labels.


#: Ends of names: the unit, and how many of the column make one. The longest that fits counts.
_ENDINGS = {
    "_kbit_per_s": ("kbit/s", 1),
    "_bytes_per_s": ("bytes/s", 1),
    "_bytes": ("bytes", 1),
    "_milli": ("count", 1_000),
    "": ("count", 1),
}
#: Resources without a unit in their name.
_RESOURCES = frozenset({*UNIT_OF, "gpu"})
#: The end of a name that says what may be used at most, and the beginning of one of a label.
LIMIT = "_limit"
LABEL = "label_"


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A column that holds amounts of a resource."""

    column: str
    resource: str
    unit: str
    per_unit: float


def columns_of(table: str) -> set[str]:
    """The columns of a table of the store."""
    return {column.name for column in all_tables()[table].columns}


def further(frame: pl.DataFrame, known: set[str]) -> tuple[list[Measure], list[str]]:
    """The columns that hold amounts, and those that hold labels.

    A column whose name says what it measures holds amounts, whatever its values are. Another one
    whose values are texts, most of them no numbers, holds labels.
    """
    measures, labels = [], []
    for name in frame.columns:
        if name in known or name == "line" or not name or name.endswith(STOOD):
            continue
        if name.startswith(LABEL) or not (_is_named(name) or _is_numeric(frame[name])):
            labels.append(name)
        else:
            measures.append(_measure(name))
    return measures, labels


def _is_named(name: str) -> bool:
    """Whether a name ends in a unit, or is that of a resource that everybody has."""
    plain = name.removesuffix(LIMIT)
    return plain in _RESOURCES or any(name.endswith(one) for one in _ENDINGS if one)


def _is_numeric(values: pl.Series) -> bool:
    if values.dtype.is_numeric() or values.dtype == pl.Null:
        return True
    if values.dtype != pl.String:
        return False
    there = values.drop_nulls()
    return 2 * there.cast(pl.Float64, strict=False).is_not_null().sum() >= len(there)


def _measure(name: str) -> Measure:
    ending = next(one for one in _ENDINGS if name.endswith(one))
    resource = name.removesuffix(ending)
    unit, per_unit = _ENDINGS[ending]
    if unit == "count":
        unit = UNIT_OF.get(resource, unit)
    base, times, per = in_stored_unit(resource.removesuffix(LIMIT), unit) or (unit, 1, 1)
    return Measure(column=name, resource=resource, unit=base, per_unit=per_unit * per / times)


#: The store's tables that have a unit, in the order in which what they state counts, and the
#: columns that are in that unit.
_AMOUNTS: dict[str, Sequence[str]] = {
    "node_resource": ("amount",),
    "container_resource": ("request", "limit"),
    "fixed_request": ("init", "overhead", "own_request", "own_limit"),
    "node_amount": ("amount",),
    "container_amount": ("amount",),
}
#: Wide files, whose columns say the unit, and what of them is no amount.
_WIDE = {
    "nodes": ("node", columns_of("node")),
    "containers": ("container", columns_of("container") | {"arrival_ms"}),
    "usage": ("container_amount", {"container", "time_ms"}),
}
_PAIR = ("resource", "unit")
#: Columns that rows have while they are looked at; names of columns end so that readers add.
_BASE, _TIMES, _PER = "base\0", "times\0", "per\0"


class Measured:
    """Brings the amounts of a table's rows into the units of the store.

    A resource that has no unit of its own (a GPU, an extended one) keeps the one that is stated
    first: by the store, by the files before, or by the rows before.
    """

    def __init__(self, opened: Opened, table: str) -> None:
        self._table = table
        self._columns = _AMOUNTS.get(table, ())
        self._first: dict[str, tuple[str, str]] = {}
        if self._columns:
            stated = (*_in_wide(opened), *_in_store(opened), *_before(opened, table))
            for where, resource, unit in stated:
                self._note(resource, unit, where)

    def apart(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Broken]]:
        """The rows in the units of the store, and a reject for each in a unit that is none."""
        if not self._columns or not set(_PAIR) <= set(frame.columns):
            return frame, []
        rules = [rule for pair in _pairs(frame) if (rule := self._broken(*pair)) is not None]
        kept, wrong = refuse(frame, rules, self._table)
        return _converted(kept, self._columns), wrong

    def _note(self, resource: str, unit: str, where: str) -> None:
        found = in_stored_unit(resource, unit)
        if stored_unit(resource) is None and found is not None and found[0] != SHARE:
            self._first.setdefault(resource, (found[0], where))

    def _broken(self, resource: str, unit: str) -> Rule | None:
        """The rule that no row states this resource in this unit, where that is wrong."""
        found = in_stored_unit(resource, unit)
        if found is None:
            expected = f"a unit of {resource}: {known_units(resource)}"
        else:
            self._note(resource, unit, "a row before")
            first, where = self._first.get(resource, (found[0], ""))
            if found[0] in (first, SHARE):
                return None
            expected = f"{first}, in which {where} states {resource}"
        is_it = (pl.col("resource").cast(pl.String) == resource) & (
            pl.col("unit").cast(pl.String) == unit
        )
        return Rule(column="unit", broken=is_it, expected=expected)


def _pairs(frame: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Each resource and unit that rows state, in the order in which they do."""
    pairs = frame.select(pl.col(one).cast(pl.String) for one in _PAIR).drop_nulls()
    yield from pairs.unique(maintain_order=True).iter_rows()


def check_units(opened: Opened, measures: Sequence[Measure]) -> None:
    """Raise TracekitError where a wide file has a resource in another unit than the store has."""
    own = {one.resource.removesuffix(LIMIT): one for one in measures}
    for _, resource, unit in _in_store(opened):
        found = own.get(resource)
        if found is None or stored_unit(resource) is not None or SHARE in (unit, found.unit):
            continue
        if found.unit != unit:
            raise TracekitError(
                f"{opened.name}: {found.column} is {resource} in {found.unit}, but the store states"
                f" {resource} in {unit}",
                hint="name the column otherwise, or ingest all into a new store, in one unit",
            )


def _in_wide(opened: Opened) -> Iterator[tuple[str, str, str]]:
    """Where, resource and unit of what wide files beside have."""
    for word, (table, others) in _WIDE.items():
        for file in opened.beside.get(word, ()):
            for frame, _ in islice(named_frames(file, table), 1):
                for one in further(frame, others)[0]:
                    yield file.name, one.resource.removesuffix(LIMIT), one.unit


def _in_store(opened: Opened) -> Iterator[tuple[str, str, str]]:
    """Where, resource and unit of what the store has."""
    for table in _AMOUNTS:
        if table in opened.stored:
            rows = pl.read_parquet(opened.stored[table], columns=list(_PAIR))
            yield from (("the store", *pair) for pair in _pairs(rows))


def _before(opened: Opened, table: str) -> Iterator[tuple[str, str, str]]:
    """The same of the files that count before this one; of use, by how each begins."""
    for word, columns in _AMOUNTS.items():
        for file in opened.beside.get(word, ()):
            if file.path == opened.path:
                return
            frames = (frame for frame, _ in named_frames(file, word))
            for frame in islice(frames, 1) if columns == ("amount",) else frames:
                if set(_PAIR) <= set(frame.columns):
                    yield from ((file.name, *pair) for pair in _pairs(frame))
        if word == table:
            return


def _converted(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The rows with their amounts in the units of the store; a text that is no number stays.

    Amounts and units as they stand in the file are beside them.
    """
    found = [(*pair, *(in_stored_unit(*pair) or (pair[1], 1, 1))) for pair in _pairs(frame)]
    changed = [one for one in found if one[1] != one[2] or one[3] != one[4]]
    if not changed:
        return frame
    kinds = dict.fromkeys((*_PAIR, _BASE), pl.String) | dict.fromkeys((_TIMES, _PER), pl.Float64)
    known = pl.DataFrame(changed, schema=kinds, orient="row")
    stood = [one for one in ("unit", *columns) if one in frame.columns]
    frame = frame.with_columns(pl.col(one).alias(one + STOOD) for one in stood)
    both = frame.with_columns(pl.col(one).cast(pl.String) for one in _PAIR).join(
        known, on=list(_PAIR), how="left", maintain_order="left"
    )
    times, per = (both[one].fill_null(1.0).to_numpy() for one in (_TIMES, _PER))
    other = pl.Series(times != per)
    for name in columns:
        if name in frame.columns:
            numbers = both[name].cast(pl.Float64, strict=False)
            # numpy divides exactly, polars multiplies with the inverse
            values = pl.Series(name, np.asarray(numbers.fill_null(0.0).to_numpy()) * times / per)
            values = values.cast(pl.String) if both.schema[name] == pl.String else values
            both = both.with_columns(values.zip_with(other & numbers.is_not_null(), both[name]))
    return both.with_columns(pl.coalesce(_BASE, "unit").alias("unit")).drop(_BASE, _TIMES, _PER)
