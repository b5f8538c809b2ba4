"""A file that a source reads by code, on its way into the store: a staging folder per table."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from tracekit.crew.crew import OnProgress
from tracekit.files.places import open_whole
from tracekit.ingest.columns import ColumnsWriter
from tracekit.ingest.rejects import RejectsWriter
from tracekit.ingest.staged import Staged, write_names
from tracekit.read.by_reader import ReaderFile
from tracekit.read.discover import TraceFile
from tracekit.read.members import HashingReader
from tracekit.read.table_file import Reading
from tracekit.tables import all_tables


class _Tables:
    """Writers of the tables that a file gives rows to, made when the first rows come."""

    def __init__(self, folder: Path, name: str, opened: ExitStack) -> None:
        self._folder, self._name, self._opened = folder, name, opened
        self.columns: dict[str, ColumnsWriter] = {}
        self.rejects: dict[str, RejectsWriter] = {}

    def of(self, table: str) -> tuple[ColumnsWriter, RejectsWriter]:
        if table not in self.columns:
            folder = self._folder / table
            folder.mkdir()
            writer = ColumnsWriter(folder / "rows", all_tables()[table])
            self.columns[table] = self._opened.enter_context(writer)
            self.rejects[table] = RejectsWriter(folder / "rejects.parquet", self._name)
        return self.columns[table], self.rejects[table]

    @property
    def rows(self) -> int:
        return sum(one.rows for one in self.columns.values())

    @property
    def rejected(self) -> int:
        return sum(one.rows for one in self.rejects.values())


def stage_by_reader(file: TraceFile, folder: Path, on_progress: OnProgress) -> tuple[Staged, ...]:
    """Read a file by its source's code; one of no rows at all counts for its first table.

    Raises TracekitError when it is damaged, or gives shares that are none.
    """
    reader, told = ReaderFile(file, folder), 0

    def count(size: int) -> None:
        nonlocal told
        size = min(size, file.size_bytes - told)
        told += size
        on_progress(size, tables.rows, tables.rejected)

    with ExitStack() as opened:
        tables = _Tables(folder, file.name, opened)
        tables.of(file.match.format.table)
        for table, rows in reader.blocks(count):
            columns, rejects = tables.of(table)
            columns.append(rows.columns)
            rejects.append(rows.rejects)
    reader.fractions.check(file.name)
    on_progress(file.size_bytes - told, tables.rows, tables.rejected)
    digest = _sha256(file.path)
    staged = []
    for name, rejects in tables.rejects.items():
        rejects.close()
        write_names(folder / name, all_tables()[name], reader.keys[name])
        reading = Reading(sha256=digest, content=f"sha256:{digest}", counts=reader.counts[name])
        staged.append(
            Staged(
                folder=folder / name,
                table=name,
                release=file.match.source.name,
                reading=reading,
                rows=tables.columns[name].rows,
                rejected=rejects.rows,
                reject_defects=tuple(rejects.defects()),
            )
        )
    some = tuple(one for one in staged if one.rows_read)
    return some or tuple(staged[:1])


def _sha256(path: Path) -> str:
    with open_whole(path) as raw:
        return HashingReader(raw).finish()
