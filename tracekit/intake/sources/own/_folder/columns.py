"""What columns of wide tables hold: amounts of resources, whose unit they name, or labels."""

from dataclasses import dataclass

import polars as pl

from tracekit.base.units import UNIT_OF, in_stored_unit
from tracekit.intake.sources._stood import STOOD
from tracekit.store.tables import all_tables

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
