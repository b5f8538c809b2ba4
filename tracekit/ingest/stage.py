"""One source file on its way into the store: read aside first, then sorted.

Both halves are a worker's; between them the coordinator gives the file's names their keys. All that
passes between them but a few numbers lies in the file's staging folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from tracekit.crew.crew import OnProgress
from tracekit.errors import TracekitError
from tracekit.files.places import is_remote
from tracekit.ingest.columns import Columns, ColumnsWriter
from tracekit.ingest.names import Names
from tracekit.ingest.rejects import RejectsWriter
from tracekit.ingest.sort import Written, write_sorted
from tracekit.ingest.stage_by_reader import stage_by_reader
from tracekit.ingest.staged import Staged, write_names
from tracekit.read.discover import TraceFile
from tracekit.read.fractions import check_above
from tracekit.read.plan import key_kinds
from tracekit.read.table_file import CodedFile, open_coded
from tracekit.read.wide import table_of
from tracekit.sources import ClusterMatch
from tracekit.store.manifest import DERIVED
from tracekit.tables import all_tables


def stage(file: TraceFile, folder: Path, on_progress: OnProgress) -> tuple[Staged, ...]:
    """Read a whole file into the staging folder: what it gives to each table.

    Raises TracekitError when the file is damaged, is written to meanwhile, or gives fractions that
    are none.
    """
    before = _state(file.path)
    if isinstance(file.match, ClusterMatch):
        staged = stage_by_reader(file, folder, on_progress)
    else:
        staged = (_stage_table(file, folder, on_progress),)
    if _state(file.path) != before:
        # its hash may be of other bytes than its rows: it would pass for read, or for another file
        raise TracekitError(
            f"{file.name} was changed while it was read, nothing of it is taken in",
            hint="ingest again when nobody writes to it",
        )
    if file.match.source.name != DERIVED:
        # what is worked out may be far above 1: use has no bound but the node
        for one in staged:
            check_fractions(file.name, one)
    return staged


def _state(path: Path) -> tuple[int, int, int] | None:
    """What differs once a file is written to; None on an object store, where files are replaced."""
    if is_remote(path):
        return None
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


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

    told = 0
    for rows in coded.blocks(count):
        columns.append(rows.columns)
        rejects.append(rows.rejects)
        told, before = read, told
        on_progress(told - before, columns.rows, rejects.rows)
    on_progress(read - told, columns.rows, rejects.rows)


def sort(staged: Staged, counts: Mapping[str, int], memory_bytes: int) -> Written:
    """Sort the staged rows into ``staged.part``.

    Parameters
    ----------
    counts : for each entity, how many ids the store knows; their keys stand in ``keys_path``
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
    """Texts by their rank: the order of their bytes."""
    order = texts.arg_sort().to_numpy()
    ranks = np.empty(order.size, dtype=np.int32)
    ranks[order] = np.arange(order.size, dtype=np.int32)
    return Names(ranks, order.size, pl.Series(texts.gather(order)))
