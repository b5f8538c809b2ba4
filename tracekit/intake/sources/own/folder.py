"""A folder of tables that somebody wrote from their own monitoring, as Parquet or as CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import polars as pl

from tracekit.intake.sources._cluster import (
    Batch,
    Broken,
    ClusterFile,
    ClusterSource,
    Head,
    Opened,
    Read,
)
from tracekit.intake.sources._columns import named_frames, spelled
from tracekit.intake.sources._rows import refuse
from tracekit.intake.sources.own._folder import rows
from tracekit.intake.sources.own._folder.checks import Known, unknown
from tracekit.intake.sources.own._folder.containers import known_containers
from tracekit.intake.sources.own._folder.documents import in_form
from tracekit.intake.sources.own._folder.measured import Measured
from tracekit.intake.sources.own._folder.nodes import kept_nodes, listed_places, timed
from tracekit.intake.sources.own._folder.repeats import Earlier, Repeats
from tracekit.intake.sources.own._folder.stored import Stored
from tracekit.intake.sources.own._folder.units import check_steps
from tracekit.store.tables import Table, all_tables

#: usage.csv, usage_3.parquet, usage-2026-01-31.csv, usage.part-0.parquet
_ENDING = r"(?:[-_.]?(?:part)?[-_.]?\d[-\w]*)?\.(?:csv|parquet)"


def _is(stem: str, needed: tuple[str, ...]) -> Callable[[Head], bool]:
    lacks = _lacks(stem, needed)
    return lambda head: lacks(head) == ()


def _lacks(stem: str, needed: tuple[str, ...]) -> Callable[[Head], tuple[str, ...] | None]:
    """Which columns a file of that name lacks; None for a file of another name."""
    pattern = re.compile(re.escape(stem) + _ENDING)

    def lacks(head: Head) -> tuple[str, ...] | None:
        if not pattern.fullmatch(head.name):
            return None
        found = head.fields()
        there = {*found, *spelled(found, set(needed)).values()}
        return tuple(name for name in needed if name not in there)

    return lacks


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


def _table_file(table: Table) -> ClusterFile:
    """A file with the columns of a table of the store."""
    needed = tuple(column.name for column in table.columns if column.required)
    if table.entity == "node" and not table.step:
        # what is said of a node without a time holds from the start
        needed = tuple(name for name in needed if name != "time_ms")

    return ClusterFile(
        word=table.name,
        title=f"the store's own table {table.name}",
        tables=(table.name,),
        recognises=_is(table.name, needed),
        lacks=_lacks(table.name, needed),
        read=partial(read_table, table, needed),
    )


_OWN_WORDS = (
    ClusterFile(
        word="nodes",
        title="nodes and what they have",
        tables=("node", "node_resource"),
        recognises=_is("nodes", rows.NODES),
        lacks=_lacks("nodes", rows.NODES),
        read=rows.read_nodes,
    ),
    ClusterFile(
        word="containers",
        title="containers, their lives and requests",
        tables=("container", "container_resource"),
        recognises=_is("containers", rows.CONTAINERS),
        lacks=_lacks("containers", rows.CONTAINERS),
        read=rows.read_containers,
    ),
    ClusterFile(
        word="usage",
        title="what containers use",
        tables=("container_amount",),
        recognises=_is("usage", rows.USAGE),
        lacks=_lacks("usage", rows.USAGE),
        read=rows.read_usage,
    ),
    ClusterFile(
        word="background",
        title="what runs on nodes beside the containers",
        tables=("node_amount",),
        recognises=_is("background", rows.BACKGROUND),
        lacks=_lacks("background", rows.BACKGROUND),
        read=rows.read_background,
    ),
)

SOURCE = ClusterSource(
    name="folder",
    title="Your own tables of nodes, containers and usage, as Parquet or CSV",
    url="https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
    missing_names=frozenset({""}),
    licence="your own",
    files=(*_OWN_WORDS, *(_table_file(table) for table in all_tables().values())),
    lacks=("what you leave out: every optional column and file",),
    inferred=(
        "a column's unit, from the end of its name: _milli, _bytes, _bytes_per_s, _kbit_per_s",
    ),
    notes=(
        "times are ms, of any beginning: since the start, or since 1970",
        "background.* is kept as the resources background_cpu and background_memory of its node",
    ),
)
