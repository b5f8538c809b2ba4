"""Base tables of the store: a few in a file, columns with types, units and rules."""

import functools
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tracekit.base import registry

Kind = Literal["time", "id", "text", "number"]


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of a base table.

    Parameters
    ----------
    kind : {'time', 'id', 'text', 'number'}
        ``time`` is int64 ms since the start of the trace; ``id`` an entity's original id, kept
        in the store as an int32 key; ``text`` a short repeated string; ``number`` float64.
    entity : str, optional
        For ids: the entity, and so the dimension, the id belongs to.
    required : bool
        A row without a value here is broken and goes to the rejects. Otherwise the value is NULL.
    minimum : float, optional
        A smaller value is impossible, and its row goes to the rejects.
    usual_maximum : float, optional
        A larger value is kept, and counted in the data-quality ledger.
    often_absent : bool
        Rows without a value are as they should be, so they are not counted as a defect.
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
    """A base table.

    Parameters
    ----------
    key : tuple of str
        Columns that a clean table holds at most once together. Of rows with one key the first in
        file order is kept. Empty: only rows equal in every column are duplicates.
    order : tuple of str
        The order of rows in the store, chosen for the common scan.
    entity : str
        The entity whose samples follow each other in time, or the one a row belongs to.
    step : bool
        Whether rows come at regular steps, so that a step can be inferred.
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
        """The column of that name."""
        return next(column for column in self.columns if column.name == name)

    @property
    def ids(self) -> tuple[Column, ...]:
        """The columns that hold entity ids."""
        return tuple(column for column in self.columns if column.kind == "id")

    @property
    def entities(self) -> tuple[str, ...]:
        """The entities this table speaks of, without repetition, in column order."""
        return tuple(dict.fromkeys(c.entity for c in self.columns if c.entity is not None))


@functools.cache
def all_tables() -> dict[str, Table]:
    """Every base table, by name."""
    return registry.named(sys.modules[__name__], Table)


def all_entities() -> list[str]:
    """Every entity that some table speaks of, sorted."""
    return sorted({entity for table in all_tables().values() for entity in table.entities})


#: The columns that name a resource and the unit of its amounts.
RESOURCE = Column(
    name="resource",
    kind="text",
    unit="",
    description="cpu, memory, disk, disk_io, net_in, net_out, gpu, pods, ...",
)
UNIT = Column(
    name="unit",
    kind="text",
    unit="",
    description="cores, bytes, bytes/s, kbit/s, count, or fraction.",
)
_AMOUNT = (
    "In use. Of samples that stand in two files the first file's count (`sample_in_two_files` and"
    " `other_sample_in_two_files` in `check`)."
)


def amounts_of(entity: str, plural: str) -> Table:
    """The table of use of entities of a kind, of any resource."""
    order = (entity, "resource", "time_ms")
    return Table(
        name=f"{entity}_amount",
        title=f"Use of {plural} in amounts, of any resource",
        grain=f"{entity} x resource x sample",
        columns=(
            Column(name="time_ms", kind="time", unit="ms", description="Of the sample."),
            Column(name=entity, kind="id", unit="", description=f"The {entity}.", entity=entity),
            RESOURCE,
            Column(name="amount", kind="number", unit="see unit", description=_AMOUNT, minimum=0),
            UNIT,
        ),
        key=order,
        order=order,
        entity=entity,
        step=True,
    )


TIME_MS = Column(
    name="time_ms", kind="time", unit="ms", description="Time since trace start.", minimum=0
)

CONTAINER = Column(
    name="container", kind="id", unit="", entity="container", description="The container."
)

SERVICE_OF_CONTAINER = Column(
    name="service",
    kind="id",
    unit="",
    entity="service",
    description="The service the container belongs to.",
    required=False,
)


def parts_of_requests(name: str, title: str, parts: Mapping[str, str]) -> Table:
    """A table of what containers ask for, from a time on; ``parts``: descriptions of its amounts.

    Many containers state none of them.
    """
    order = ("container", "resource", "time_ms")
    amounts = (
        Column(
            name=part,
            kind="number",
            unit="see unit",
            description=description,
            required=False,
            often_absent=True,
            minimum=0,
        )
        for part, description in parts.items()
    )
    since = Column(name="time_ms", kind="time", unit="ms", description="From when on.")
    return Table(
        name=name,
        title=title,
        grain="container x resource x time of change",
        columns=(since, CONTAINER, RESOURCE, *amounts, UNIT),
        key=order,
        order=order,
        entity="container",
        step=False,
    )
