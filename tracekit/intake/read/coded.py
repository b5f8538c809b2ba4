"""Rows before sorting: numbers, and integer keys in place of names.

``Plan`` has the layout of a file's lines, as arrays for compiled loops.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, FloatArray, Int32Array, IntArray, UInt8Array
from tracekit.intake.read.parse import CleanBlock
from tracekit.store.tables import Column, Table

DTYPES = {"time": np.int64, "number": np.float64, "id": np.int32, "text": np.int32}
LINE = "line"
PASSED_OVER, TIME, NUMBER, NAME = 0, 1, 2, 3
_WHAT = {"time": TIME, "number": NUMBER, "id": NAME, "text": NAME}


class Keys(Protocol):
    """Integer keys of one file's names: each kind of name, such as node, has keys 0, 1, 2, ..."""

    def encode(self, kind: int, names: pl.Series) -> Int32Array:
        """Return the key of each name, -1 for NULL, shape (names,); new names get new keys."""

    def texts(self, kind: int) -> Iterator[pa.Array]:
        """Return the names of a kind in the order of their keys, in arrays of large strings."""


class PlainKeys:
    """Integer keys of one file's names, in a Python dictionary.

    It serves small files, for which loading compiled code would take longer.
    """

    def __init__(self, kinds: int) -> None:
        self._keys: list[dict[str, int]] = [{} for _ in range(kinds)]

    def encode(self, kind: int, names: pl.Series) -> Int32Array:
        """Return the key of each name, -1 for NULL, shape (names,)."""
        keys = self._keys[kind]
        distinct = names.drop_nulls().unique(maintain_order=True)
        return coded(names, distinct, [keys.setdefault(name, len(keys)) for name in distinct])

    def texts(self, kind: int) -> Iterator[pa.Array]:
        """Yield the names of a kind in the order of their keys."""
        names = pl.Series(list(self._keys[kind]), dtype=pl.String)
        # this type needs no cast, which would load pyarrow's compute functions
        yield names.to_arrow(compat_level=pl.CompatLevel.oldest())


def coded(names: pl.Series, distinct: pl.Series, keys: Sequence[int] | Int32Array) -> Int32Array:
    """Return the key of each name, -1 for NULL, shape (names,).

    ``distinct`` has each name once, and ``keys`` has the key of each of these.
    """
    pairs = pl.DataFrame({"name": distinct, "key": pl.Series(keys, dtype=pl.Int32)})
    wanted = pl.DataFrame({"name": names})
    joined = wanted.join(pairs, on="name", how="left", maintain_order="left")
    return joined["key"].fill_null(-1).to_numpy()


@dataclass(frozen=True)
class CodedRows:
    """Rows of a base table with integer keys in place of names, and the rejects of the same lines.

    Attributes
    ----------
    columns : by column name, and ``line``, the line number; each of shape (rows,). Times and lines
        are int64, numbers are float64 with NaN for NULL, names are int32 keys with -1 for NULL
    rejects : the broken rows, with columns ``line, column, reason, text``
    """

    columns: dict[str, NDArray[np.generic]]
    rejects: pl.DataFrame

    @property
    def rows(self) -> int:
        """The number of rows, without rejects."""
        return int(self.columns[LINE].size)


def code(clean: CleanBlock, table: Table, keys: Keys) -> CodedRows:
    """Return the rows of a block with keys in place of names; new names get new keys."""
    kinds = key_kinds(table)
    columns = {
        column.name: _coded(clean.frame[column.name], column, kinds, keys)
        for column in table.columns
    }
    columns[LINE] = clean.frame[LINE].to_numpy()
    return CodedRows(columns, clean.rejects)


def _coded(
    values: pl.Series, column: Column, kinds: tuple[str, ...], keys: Keys
) -> NDArray[np.generic]:
    if column.kind in {"id", "text"}:
        return keys.encode(kinds.index(kind_of(column)), values)
    if column.kind == "number":
        return values.fill_null(np.nan).to_numpy()
    return values.to_numpy()


def in_line_order(parts: list[CodedRows]) -> dict[str, NDArray[np.generic]]:
    """Return the joined columns of several ``CodedRows``, sorted by line, each of shape (rows,)."""
    joined = {
        name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns
    }
    order = np.argsort(joined[LINE], kind="stable")
    return {name: values[order] for name, values in joined.items()}


class Fields(NamedTuple):
    """What the compiled scan does with each field of a line; every array has the shape (width,).

    Attributes
    ----------
    what : PASSED_OVER, TIME, NUMBER or NAME
    place : the row of the field in ``Rows.times``, ``Rows.numbers`` or ``Rows.keys``
    kind : for names, the index of the kind of key in ``key_kinds``
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
    """The plan by which a compiled scan turns the lines of a file into columns of a table.

    Attributes
    ----------
    fields : what to do with each field of a line
    times, numbers, names : the columns of each type, in the order of the output arrays
    unknown : the spellings of an unknown name; the spelling at index n has the key ``-1 - n``
    """

    table: Table
    fields: Fields
    times: tuple[Column, ...]
    numbers: tuple[Column, ...]
    names: tuple[Column, ...]
    unknown: tuple[str, ...]


def key_kinds(table: Table) -> tuple[str, ...]:
    """Return the kinds of names in a table, each of which has integer keys 0, 1, 2, ... of its own.

    They are the table's entities, such as node, and its text columns.
    """
    texts = tuple(column.name for column in table.columns if column.kind == "text")
    return (*table.entities, *texts)


def kind_of(column: Column) -> str:
    """Return a column's kind of key: its entity (such as node), or its name for a text column."""
    return column.entity or column.name


def make_plan(
    table: Table, positions: Mapping[str, int], width: int, missing_names: frozenset[str]
) -> Plan:
    """Return the plan for lines of ``width`` fields.

    ``positions`` has the index of each column's field, by column name.
    """
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
