"""A folder of tables that somebody wrote from their own monitoring, as Parquet or as CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
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
from tracekit.intake.sources.own._folder.checks import unknown
from tracekit.intake.sources.own._folder.documents import in_form
from tracekit.intake.sources.own._folder.listed import (
    kept_nodes,
    known_containers,
    listed_places,
    timed,
)
from tracekit.intake.sources.own._folder.measured import Measured
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
    """The rows of a table that have its form and name known containers, in the store's units."""
    states = table.entity and table.key and not table.step
    measured = Measured(opened, table.name)
    listed = known_containers(opened) if table.name in _ASKED else None
    places = listed_places(opened) if table.name == "container_usage" else None
    columns = {column.name for column in table.columns}
    for frame, broken in named_frames(opened, table.name, needed=needed):
        yield from broken
        if table.step and table.entity:
            check_steps(opened.name, frame, table.entity)
        rows, wrong = _in_form(frame, table) if states else (frame, [])
        yield from wrong
        rows, wrong = measured.apart(rows)
        yield from wrong
        rows, wrong = refuse(rows, unknown(rows, "container", listed), table.name)
        yield from wrong
        rows = rows if places is None else places.of(rows)
        rows = timed(rows) if states and table.entity == "node" else rows
        kept = [name for name in rows.columns if name in columns or name == "line"]
        yield Batch(table=table.name, rows=rows.select(kept), stood=rows)


def _in_form(frame: pl.DataFrame, table: Table) -> tuple[pl.DataFrame, list[Broken]]:
    if table.entity == "node":
        return kept_nodes(frame, table.name)
    return refuse(frame, in_form(frame, table.name), table.name)


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
