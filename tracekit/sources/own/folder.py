"""A folder of tables that somebody wrote from their own monitoring, as Parquet or as CSV."""

import re
from collections.abc import Callable

import polars as pl

from tracekit.sources._cluster import (
    Batch,
    Broken,
    ClusterFile,
    ClusterSource,
    Head,
    Opened,
    Read,
)
from tracekit.sources._columns import named_frames, spelled
from tracekit.sources._rows import STOOD, refuse
from tracekit.sources.own import _folder_rows
from tracekit.sources.own._folder_checks import known_containers, unknown
from tracekit.sources.own._folder_documents import in_form
from tracekit.sources.own._folder_earlier import Earlier
from tracekit.sources.own._folder_measured import Measured
from tracekit.sources.own._folder_nodes import kept_nodes, listed_places, timed
from tracekit.sources.own._folder_repeats import Repeats
from tracekit.sources.own._folder_stored import Stored
from tracekit.sources.own._folder_units import check_steps
from tracekit.tables import Table, all_tables

#: usage.csv, usage_3.parquet, usage-2026-01-31.csv, usage.part-0.parquet
_ENDING = r"(?:[-_.]?(?:part)?[-_.]?\d[-\w]*)?\.(?:csv|parquet)"

#: The tables of what containers ask for, which list none.
_ASKED = ("container_resource", "fixed_request")


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


def _table_file(table: Table) -> ClusterFile:
    """A file with the columns of a table of the store."""
    columns = {column.name for column in table.columns}
    needed = tuple(column.name for column in table.columns if column.required)
    if table.entity == "node" and not table.step:
        # what is said of a node without a time holds from the start
        needed = tuple(name for name in needed if name != "time_ms")

    def read(opened: Opened) -> Read:
        repeats = Repeats(table.name, () if table.step else table.key)
        measured = Measured(opened, table.name)

        def in_form(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Broken]]:
            rows, wrong = _in_form(frame, table)
            rows, other = measured.apart(rows)
            return rows, [*wrong, *other]

        small = bool(table.entity and table.key and not table.step)
        earlier = (
            Earlier(opened, table.name, table.key, table.name, lambda frame: in_form(frame)[0])
            if small
            else None
        )
        stored = Stored(opened) if small else None
        listed = known_containers(opened) if table.name in _ASKED else None
        places = listed_places(opened) if table.name == "container_usage" else None
        for frame, broken in named_frames(opened, table.name, needed=needed):
            yield from broken
            if table.step and table.entity:
                check_steps(opened.name, frame, table.entity)
            rows, wrong = in_form(frame)
            yield from wrong
            rows, wrong = refuse(rows, unknown(rows, "container", listed), table.name)
            yield from wrong
            for one in (repeats, earlier):
                rows, wrong = one.apart(rows) if one is not None else (rows, [])
                yield from wrong
            stood = rows
            rows = timed(rows) if table.entity == "node" and not table.step else rows
            rows = rows if places is None else places.of(rows)
            own = [name for name in rows.columns if name.removesuffix(STOOD) in {*columns, "line"}]
            batch = Batch(table=table.name, rows=rows.select(own), stood=stood)
            yield from [batch] if stored is None else stored.apart(stood, [batch])

    return ClusterFile(
        word=table.name,
        title=f"the store's own table {table.name}",
        tables=(table.name,),
        recognises=_is(table.name, needed),
        lacks=_lacks(table.name, needed),
        read=read,
    )


def _in_form(frame: pl.DataFrame, table: Table) -> tuple[pl.DataFrame, list[Broken]]:
    """The rows that have the form of the table, and the rejects."""
    if table.step or not table.entity:
        return frame, []
    if table.entity == "node":
        return kept_nodes(frame, table.name)
    return refuse(frame, in_form(frame, table.name), table.name)


_OWN_WORDS = (
    ClusterFile(
        word="nodes",
        title="nodes and what they have",
        tables=("node", "node_resource"),
        recognises=_is("nodes", _folder_rows.NODES),
        lacks=_lacks("nodes", _folder_rows.NODES),
        read=_folder_rows.read_nodes,
    ),
    ClusterFile(
        word="containers",
        title="containers, their lives and requests",
        tables=("container", "container_resource"),
        recognises=_is("containers", _folder_rows.CONTAINERS),
        lacks=_lacks("containers", _folder_rows.CONTAINERS),
        read=_folder_rows.read_containers,
    ),
    ClusterFile(
        word="usage",
        title="what containers use",
        tables=("container_amount",),
        recognises=_is("usage", _folder_rows.USAGE),
        lacks=_lacks("usage", _folder_rows.USAGE),
        read=_folder_rows.read_usage,
    ),
    ClusterFile(
        word="background",
        title="what runs on nodes beside the containers",
        tables=("node_amount",),
        recognises=_is("background", _folder_rows.BACKGROUND),
        lacks=_lacks("background", _folder_rows.BACKGROUND),
        read=_folder_rows.read_background,
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
