"""The store's own tables as files of a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from tracekit.sources._cluster import Batch, Broken, Opened, Read
from tracekit.sources._columns import named_frames
from tracekit.sources._rows import refuse
from tracekit.sources.own._folder.checks import Known, unknown
from tracekit.sources.own._folder.containers import known_containers
from tracekit.sources.own._folder.documents import in_form
from tracekit.sources.own._folder.earlier import Earlier
from tracekit.sources.own._folder.measured import Measured
from tracekit.sources.own._folder.nodes import kept_nodes, listed_places, timed
from tracekit.sources.own._folder.repeats import Repeats
from tracekit.sources.own._folder.stored import Stored
from tracekit.sources.own._folder.units import check_steps
from tracekit.tables import Table

#: The tables of what containers ask for, which list none.
_ASKED = ("container_resource", "fixed_request")


def read_table(table: Table, needed: Sequence[str], opened: Opened) -> Read:
    """The rows of a table; of nodes and containers, those that nothing before states otherwise."""
    stated = _Stated(table, opened) if table.entity and table.key and not table.step else None
    repeats = Repeats(table.name, () if table.step else table.key)
    measured = Measured(opened, table.name)
    places = listed_places(opened) if table.name == "container_usage" else None
    columns = {column.name for column in table.columns}
    for frame, broken in named_frames(opened, table.name, needed=needed):
        yield from broken
        if table.step and table.entity:
            check_steps(opened.name, frame, table.entity)
        stood = frame
        for step in (stated.formed if stated else measured.apart, repeats.apart):
            stood, wrong = step(stood)
            yield from wrong
        rows = stood if places is None else places.of(stood)
        kept = [name for name in rows.columns if name in columns or name == "line"]
        batch = Batch(table=table.name, rows=rows.select(kept), stood=stood)
        yield from [batch] if stated is None else stated.apart(batch)


class _Stated:
    """What is looked at of a table of nodes or containers."""

    def __init__(self, table: Table, opened: Opened) -> None:
        self._table = table
        self._measured = Measured(opened, table.name)
        self._earlier = Earlier(
            opened, table.name, table.key, table.name, lambda frame: self._in_form(frame)[0]
        )
        self._stored = Stored(opened)
        self._listed: Known | None = known_containers(opened) if table.name in _ASKED else None

    def formed(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Broken]]:
        """The rows that have the form of the table and name known containers, and the rejects."""
        rows, wrong = self._in_form(frame)
        rows, strange = refuse(rows, unknown(rows, "container", self._listed), self._table.name)
        return rows, [*wrong, *strange]

    def apart(self, batch: Batch) -> Iterator[Batch | Broken]:
        """The rows that neither a file before nor the store states otherwise, and the rejects."""
        assert batch.stood is not None  # noqa: S101 - as it is made
        stood, wrong = self._earlier.apart(batch.stood)
        yield from wrong
        rows = batch.rows
        if wrong:
            rows = rows.filter(pl.col("line").is_in(stood["line"].implode()))
        rows = timed(rows) if self._table.entity == "node" else rows
        yield from self._stored.apart(
            stood, [Batch(table=self._table.name, rows=rows, stood=stood)]
        )

    def _in_form(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Broken]]:
        if self._table.entity == "node":
            rows, wrong = kept_nodes(frame, self._table.name)
        else:
            rows, wrong = refuse(frame, in_form(frame, self._table.name), self._table.name)
        rows, other = self._measured.apart(rows)
        return rows, [*wrong, *other]
