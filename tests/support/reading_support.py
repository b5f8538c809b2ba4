"""Reads one file through the reader of a source, without a store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tracekit.intake.read.by_reader import opened as opened_as
from tracekit.intake.read.discover import head_of, identify
from tracekit.intake.sources import Broken, ClusterMatch, ClusterSource, Opened, all_sources
from tracekit.store.tables import all_tables


@dataclass(frozen=True)
class Reading:
    """What a reader yielded: the rows of each table, and the broken rows."""

    tables: dict[str, pl.DataFrame]
    broken: list[Broken]

    def rows(self, table: str, *columns: str) -> list[tuple[object, ...]]:
        """The rows of a table in these columns."""
        return self.tables[table].select(columns).rows()


def recognised(path: Path) -> list[tuple[str, str]]:
    """The sources that think a file is theirs, with the kind of file: one where all is well."""
    head = head_of(path, path.name)
    return [
        (name, file.word)
        for name, source in all_sources().items()
        if isinstance(source, ClusterSource)
        for file in source.files
        if file.recognises(head)
    ]


def opened(path: Path) -> Opened:
    """A file as readers get it."""
    return opened_as(path, path.name)


def read(source: str, path: Path) -> Reading:
    """Everything that the source's reader makes of a file, checked against the tables' columns."""
    match = identify(path, path.name, "auto").match
    assert isinstance(match, ClusterMatch)
    assert match.source.name == source
    frames: dict[str, list[pl.DataFrame]] = {}
    broken: list[Broken] = []
    for one in match.file.read(opened(path)):
        assert one.table in match.file.tables
        if isinstance(one, Broken):
            broken.append(one)
            continue
        known = {column.name for column in all_tables()[one.table].columns}
        assert {"line"} <= set(one.rows.columns) <= {*known, "line"}
        frames.setdefault(one.table, []).append(one.rows)
    joined = {table: pl.concat(some, how="diagonal_relaxed") for table, some in frames.items()}
    return Reading(joined, broken)
