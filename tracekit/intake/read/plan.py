"""The layout of a file's lines, as arrays for compiled loops."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray, UInt8Array
from tracekit.store.tables import Column, Table

PASSED_OVER, TIME, NUMBER, NAME = 0, 1, 2, 3
_WHAT = {"time": TIME, "number": NUMBER, "id": NAME, "text": NAME}


class Fields(NamedTuple):
    """The fields of a line, each array of shape (width,).

    Attributes
    ----------
    what : PASSED_OVER, TIME, NUMBER or NAME
    place : the row in the output array of its sort
    kind : for names, the kind of key
    required : whether a row without a value is broken
    absent : whether the number may be absent
    least : the smallest allowed value
    usual_most : the largest usual value; larger values are counted
    """

    what: UInt8Array
    place: IntArray
    kind: IntArray
    required: BoolArray
    absent: BoolArray
    least: FloatArray
    usual_most: FloatArray


@dataclass(frozen=True)
class Plan:
    """How the lines of a file become columns of a table.

    Attributes
    ----------
    times, numbers, names : the columns of each sort, in the order of the output arrays
    unknown : the spellings of an unknown name, in the order of their keys
    """

    table: Table
    fields: Fields
    times: tuple[Column, ...]
    numbers: tuple[Column, ...]
    names: tuple[Column, ...]
    unknown: tuple[str, ...]


def key_kinds(table: Table) -> tuple[str, ...]:
    """The kinds of keys of a table: its entities, and each of its text columns."""
    texts = tuple(column.name for column in table.columns if column.kind == "text")
    return (*table.entities, *texts)


def kind_of(column: Column) -> str:
    """The kind of key of a column of names."""
    return column.entity or column.name


def make_plan(
    table: Table, positions: Mapping[str, int], width: int, missing_names: frozenset[str]
) -> Plan:
    """The plan for lines of ``width`` fields; ``positions`` has the position of each column."""
    sorts: dict[int, list[Column]] = {TIME: [], NUMBER: [], NAME: []}
    fields = _empty(width)
    kinds = key_kinds(table)
    for column in table.columns:
        at, what = positions[column.name], _WHAT[column.kind]
        fields.what[at] = what
        fields.place[at] = len(sorts[what])
        fields.required[at] = column.required
        fields.absent[at] = column.often_absent
        if what == NAME:
            fields.kind[at] = kinds.index(kind_of(column))
        if column.minimum is not None:
            fields.least[at] = column.minimum
        if column.usual_maximum is not None:
            fields.usual_most[at] = column.usual_maximum
        sorts[what].append(column)
    unknown = tuple(sorted(missing_names | {""}))
    times, numbers, names = (tuple(sorts[what]) for what in (TIME, NUMBER, NAME))
    return Plan(table, fields, times, numbers, names, unknown)


def _empty(width: int) -> Fields:
    return Fields(
        what=np.zeros(width, dtype=np.uint8),
        place=np.zeros(width, dtype=np.int64),
        kind=np.zeros(width, dtype=np.int64),
        required=np.zeros(width, dtype=np.bool_),
        absent=np.zeros(width, dtype=np.bool_),
        least=np.full(width, -np.inf),
        usual_most=np.full(width, np.inf),
    )
