"""Reads a source file into a staging folder, and later sorts its rows.

A worker does both. Between them the coordinator gives the file's ids their keys. The rows, ids and
keys lie in the file's staging folder; only a few numbers pass between the processes.
"""

import hashlib
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from tracekit.base.crew import OnProgress
from tracekit.base.errors import TracekitError
from tracekit.base.files.places import is_remote, open_whole
from tracekit.intake.ingest.sort import Written, write_sorted
from tracekit.intake.ingest.staged import (
    Columns,
    ColumnsWriter,
    Lines,
    Names,
    RejectsWriter,
    Staged,
    write_names,
)
from tracekit.intake.read.arrow_rows import check_above, table_of
from tracekit.intake.read.by_reader import ReaderFile
from tracekit.intake.read.coded import LINE, key_kinds
from tracekit.intake.read.discover import TraceFile, identify
from tracekit.intake.read.table_file import CodedFile, Reading, nothing_collected, open_coded
from tracekit.intake.sources import ClusterMatch, Match, Source, TableFormat
from tracekit.store.folder import DERIVED
from tracekit.store.stored_rows import OWN
from tracekit.store.tables import all_tables


class _Tables:
    """Writers for the tables of a file; each is made with the first rows of its table."""

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
    """Read a file with its source's reader. Return one ``Staged`` for each table with rows.

    A file without any row gives one empty ``Staged``, of its first table.

    Raises
    ------
    TracekitError
        When the file is damaged, or most of its fractions are far above 1.
    """
    reader, counted_bytes = ReaderFile(file, folder), 0

    def count(size: int) -> None:
        nonlocal counted_bytes
        size = min(size, file.size_bytes - counted_bytes)
        counted_bytes += size
        on_progress(size, tables.rows, tables.rejected)

    # the line numbers of each member of a tar begin at 1
    lines = Lines() if file.match.source.name == OWN and "tar" not in file.kind else None
    with ExitStack() as opened, nothing_collected():
        tables = _Tables(folder, file.name, opened)
        tables.of(file.match.format.table)
        for table, rows in reader.blocks(count):
            columns, rejects = tables.of(table)
            columns.append(rows.columns)
            rejects.append(rows.rejects)
            if lines is not None:
                good = np.concatenate([rows.columns[LINE], *reader.lines])
                lines.note(good, rows.rejects["line"].to_numpy())
            reader.lines.clear()
    reader.fractions.check(file.name)
    on_progress(file.size_bytes - counted_bytes, tables.rows, tables.rejected)
    digest = sha256(file.path)
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
                lines_read=None if lines is None else lines.read,
                lines_broken=0 if lines is None else lines.broken,
            )
        )
    some = tuple(one for one in staged if one.rows_read)
    return some or tuple(staged[:1])


def sha256(path: Path) -> str:
    """Return the sha256 of a file, as the manifest has it."""
    with open_whole(path) as raw:
        return hashlib.file_digest(raw, "sha256").hexdigest()


def stage(file: TraceFile, folder: Path, on_progress: OnProgress) -> tuple[Staged, ...]:
    """Read a whole file into the staging folder. Return one ``Staged`` for each table.

    Raises
    ------
    TracekitError
        When the file is damaged, is changed while it is read, or when most values of a column
        of fractions are far above 1.
    """
    before = _state(file.path)
    if isinstance(file.match, ClusterMatch):
        staged = stage_by_reader(file, folder, on_progress)
    else:
        staged = (_stage_table(file, folder, on_progress),)
    if _state(file.path) != before:
        # the hash may be of other bytes than the rows are: a later ingest would skip the file
        raise TracekitError(
            f"{file.name} was changed while it was read, nothing of it is taken in",
            hint="ingest again when nobody writes to it",
        )
    if file.match.source.name != DERIVED:
        # derived fractions may be far above 1: only the node limits use
        for one in staged:
            check_fractions(file.name, one)
    return staged


def _state(path: Path) -> tuple[int, int, int] | None:
    """Inode, size and time of change of a file; None on an object store."""
    if is_remote(path):
        return None
    about = path.stat()
    return about.st_ino, about.st_size, about.st_mtime_ns


def _stage_table(file: TraceFile, folder: Path, on_progress: OnProgress) -> Staged:
    table = table_of(file.match)
    coded = open_coded(file)
    rejects = RejectsWriter(folder / "rejects.parquet", file.name)
    with ColumnsWriter(folder / "rows", table) as columns:
        _read(coded, columns, rejects, on_progress)
    rejects.close()
    write_names(folder, table, coded.keys)
    return Staged(
        folder=folder,
        table=table.name,
        release=file.match.source.name,
        reading=coded.reading,
        rows=columns.rows,
        rejected=rejects.rows,
        reject_defects=tuple(rejects.defects()),
    )


def check_fractions(name: str, staged: Staged) -> None:
    """Raise TracekitError where most values of a column of fractions are far above 1."""
    for column in all_tables()[staged.table].columns:
        above = staged.reading.counts.above.get(column.name, 0)
        if column.unit != "0..1" or above * 2 <= staged.rows:
            continue
        rows = Columns(staged.folder / "rows", all_tables()[staged.table], staged.rows)
        most = float(np.nanmax(rows.read(column.name, 0, staged.rows)))
        usual = column.usual_maximum or 1.0
        check_above(name, column.name, above=above, of=staged.rows, most=most, usual=usual)


def _read(
    coded: CodedFile, columns: ColumnsWriter, rejects: RejectsWriter, on_progress: OnProgress
) -> None:
    read = 0

    def count(size: int) -> None:
        nonlocal read
        read += size

    reported = 0
    for rows in coded.blocks(count):
        columns.append(rows.columns)
        rejects.append(rows.rejects)
        reported, before = read, reported
        on_progress(reported - before, columns.rows, rejects.rows)
    on_progress(read - reported, columns.rows, rejects.rows)


def sort(staged: Staged, counts: Mapping[str, int], memory_bytes: int) -> Written:
    """Sort the staged rows into ``staged.part``, with the store's keys in place of the file's.

    Parameters
    ----------
    counts : the number of ids in the store, by entity
    """
    table = all_tables()[staged.table]
    names = {
        kind: (
            Names(np.load(staged.keys_path(kind)), counts[kind])
            if kind in counts
            else _ranked(staged.names(kind))
        )
        for kind in key_kinds(table)
    }
    columns = Columns(staged.folder / "rows", table, staged.rows)
    return write_sorted(columns, names, table, staged.part, memory_bytes)


def _ranked(texts: pl.Series) -> Names:
    """Names with ranks as keys: the first text in the order of bytes has rank 0."""
    order = texts.arg_sort().to_numpy()
    ranks = np.empty(order.size, dtype=np.int32)
    ranks[order] = np.arange(order.size, dtype=np.int32)
    return Names(ranks, order.size, pl.Series(texts.gather(order)))


def derived_file(path: Path, name: str) -> TraceFile:
    """Return a computed Parquet file ``TABLE.parquet`` as a trace file, to be ingested."""
    columns = [column.name for column in all_tables()[path.stem].columns]
    form = TableFormat(
        table=path.stem,
        word=path.stem,
        file_stem=path.stem,
        columns={column: (column,) for column in columns},
    )
    source = Source(name=DERIVED, title="Worked out", url="")
    positions = {column: at for at, column in enumerate(columns)}
    match = Match(source=source, format=form, header=tuple(columns), positions=positions)
    return TraceFile(path=path, name=name, kind="parquet", match=match)


@dataclass(frozen=True)
class StageTask:
    """A worker's task: read a file into its staging folder."""

    path: Path
    name: str
    release: str
    folder: Path
    beside: tuple[tuple[str, Path, str], ...] = ()
    stored_sizes: tuple[tuple[str, float, float], ...] = ()
    together_bytes: int = 0
    stored: tuple[tuple[str, Path], ...] = ()

    def run(self, on_progress: OnProgress) -> tuple[Staged, ...]:
        """Read the file.

        Raises
        ------
        TracekitError
            When the file is damaged; its staging folder is then removed.
        """
        # a worker that was lost may have left the folder
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        try:
            file = (
                derived_file(self.path, self.name)
                if self.release == DERIVED
                else identify(self.path, self.name, self.release)
            )
            whole = replace(
                file,
                beside=self.beside,
                stored_sizes=self.stored_sizes,
                together_bytes=self.together_bytes,
                stored=self.stored,
            )
            return stage(whole, self.folder, on_progress)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise


@dataclass(frozen=True)
class SortTask:
    """A worker's task: sort the staged rows of a file; see ``sort``."""

    staged: Staged
    counts: Mapping[str, int]
    memory_bytes: int

    def run(self, on_progress: OnProgress) -> Written:
        """Sort the rows. No progress is reported: sorting is quick compared with reading."""
        del on_progress
        return sort(self.staged, self.counts, self.memory_bytes)
