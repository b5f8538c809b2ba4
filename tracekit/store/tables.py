"""Base tables of the store, a row each in ``tables.csv``, and their columns in ``columns.csv``."""

import csv
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Kind = Literal["time", "id", "text", "number"]
#: What a row is without a value: a reject, a counted defect, or as it should be.
Absent = Literal["rejected", "counted", "usual"]

#: The taints that Kubernetes gives a node by the status of its condition Ready.
UNREADY_TAINTS = {
    "False": "node.kubernetes.io/not-ready",
    "Unknown": "node.kubernetes.io/unreachable",
}
#: How a part of ``not_held`` begins that is a wish of the container and no rule.
PREFERRED = "preferred"
#: The part of ``not_held`` of a container that no scheduler may give a node yet.
GATES = "schedulingGates"


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of a base table.

    Parameters
    ----------
    kind : {'time', 'id', 'text', 'number'}
        ``time`` is int64 ms since the start of the trace; ``id`` an entity's original id, kept in
        the store as an int32 key; ``text`` a short repeated string; ``number`` float64.
    entity : str, optional
        For ids: the entity, such as node, whose dimension table maps keys to ids.
    required : bool
        A row without a value here is broken and goes to the rejects. Otherwise the value is NULL.
    minimum : float, optional
        A smaller value is impossible, and its row goes to the rejects.
    usual_maximum : float, optional
        A larger value is kept, and counted as a defect.
    often_absent : bool
        Rows without a value are not counted as a defect.
    """

    name: str
    kind: Kind
    unit: str
    description: str
    entity: str | None = None
    required: bool = True
    minimum: float | None = None
    usual_maximum: float | None = None
    often_absent: bool = False

    @property
    def stored_name(self) -> str:
        """The column's name in the Parquet files: ids are stored as ``<name>_key``."""
        return f"{self.name}_key" if self.kind == "id" else self.name

    @property
    def sql_type(self) -> str:
        """The column's type in the views."""
        return {"time": "BIGINT", "id": "VARCHAR", "text": "VARCHAR", "number": "DOUBLE"}[self.kind]


@dataclass(frozen=True, kw_only=True)
class Table:
    """One base table of the store: its columns, and the order of its rows.

    Parameters
    ----------
    key : tuple of str
        Columns whose values together occur once in a clean table. Of rows with equal keys the first
        in file order is kept. Empty: only rows equal in every column are duplicates.
    order : tuple of str
        The columns by which rows are sorted in the store, chosen for the common scan.
    entity : str
        The entity that a row, or a series of samples, belongs to.
    step : bool
        Whether rows have regular steps, so that a step can be inferred.
    """

    name: str
    title: str
    grain: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    order: tuple[str, ...]
    entity: str
    step: bool

    def column(self, name: str) -> Column:
        """Return the column of that name."""
        return next(column for column in self.columns if column.name == name)

    @property
    def ids(self) -> tuple[Column, ...]:
        """The columns that hold entity ids."""
        return tuple(column for column in self.columns if column.kind == "id")

    @property
    def entities(self) -> tuple[str, ...]:
        """The entities of the table's ids, each once, in column order."""
        return tuple(dict.fromkeys(c.entity for c in self.columns if c.entity is not None))


@functools.cache
def all_tables() -> dict[str, Table]:
    """Return every base table, by name."""
    columns: dict[str, list[Column]] = {}
    for row in _rows("columns.csv"):
        columns.setdefault(row["table"], []).append(_column(row))
    return {
        row["table"]: Table(
            name=row["table"],
            title=row["title"],
            grain=row["grain"],
            columns=tuple(columns[row["table"]]),
            key=tuple(row["order"].split()) if row["unique"] == "yes" else (),
            order=tuple(row["order"].split()),
            entity=row["entity"],
            step=row["step"] == "yes",
        )
        for row in _rows("tables.csv")
    }


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (Path(__file__).parent / name).open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def _column(row: dict[str, str]) -> Column:
    kinds: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
    absent = row["without_value"]
    assert absent in get_args(Absent), row  # noqa: S101 - the file is tracekit's own
    return Column(
        name=row["column"],
        kind=kinds[row["kind"]],
        unit=row["unit"],
        description=row["description"],
        entity=row["entity"] or None,
        required=absent == "rejected",
        minimum=float(row["minimum"]) if row["minimum"] else None,
        usual_maximum=float(row["usual_maximum"]) if row["usual_maximum"] else None,
        often_absent=absent == "usual",
    )


def all_entities() -> list[str]:
    """Return every entity of some table, sorted."""
    return sorted({entity for table in all_tables().values() for entity in table.entities})
