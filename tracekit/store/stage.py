"""One source file on its way into the store: read aside first, then sorted.

Both halves are a worker's; between them the coordinator gives the file's names their keys. All that
passes between them but a few numbers lies in the file's staging folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.ipc

from tracekit.crew import OnProgress
from tracekit.ingest.discover import TraceFile
from tracekit.ingest.plan import key_kinds
from tracekit.ingest.read import CodedFile, Reading, open_coded
from tracekit.ingest.wide import table_of
from tracekit.store.columns import Columns, ColumnsWriter
from tracekit.store.manifest import Defect
from tracekit.store.names import Names
from tracekit.store.rejects import RejectsWriter
from tracekit.store.sort import Written, write_sorted
from tracekit.tables import all_tables


@dataclass(frozen=True)
class Staged:
    """What is known of a file whose clean rows lie in a staging folder, with the file's keys."""

    folder: Path
    table: str
    release: str
    reading: Reading
    rows: int
    rejected: int
    reject_defects: tuple[Defect, ...]

    @property
    def rows_read(self) -> int:
        """The number of rows, good and broken."""
        return self.rows + self.rejected

    @property
    def content(self) -> str:
        """The identity of the file's unpacked content."""
        return self.reading.content

    @property
    def rejects(self) -> Path:
        """The rejects, if there are any."""
        return self.folder / "rejects.parquet"

    @property
    def part(self) -> Path:
        """The sorted rows, once they are."""
        return self.folder / "part.parquet"

    def names(self, kind: str) -> pl.Series:
        """The names of a kind, in the order of the file's keys."""
        return pl.scan_ipc(self.folder / f"{kind}.names", glob=False).collect()["id"]

    def keys_path(self, entity: str) -> Path:
        """Where the store's keys of the file's keys stand."""
        return self.folder / f"{entity}.keys.npy"


def stage(file: TraceFile, folder: Path, on_progress: OnProgress) -> Staged:
    """Read a whole file into the staging folder; raises TracekitError when it is damaged."""
    table = table_of(file.match)
    coded = open_coded(file)
    rejects = RejectsWriter(folder / "rejects.parquet", file.name)
    with ColumnsWriter(folder / "rows", table) as columns:
        _read(coded, columns, rejects, on_progress)
    rejects.close()
    for number, kind in enumerate(key_kinds(table)):
        _write_names(folder / f"{kind}.names", coded.keys.texts(number))
    return Staged(
        folder=folder,
        table=table.name,
        release=file.match.source.name,
        reading=coded.reading,
        rows=columns.rows,
        rejected=rejects.rows,
        reject_defects=tuple(rejects.defects()),
    )


def _write_names(path: Path, names: Iterable[pa.Array]) -> None:
    schema = pa.schema([("id", pa.large_string())])
    with pa.ipc.new_file(path, schema) as out:
        for some in names:
            out.write_batch(pa.RecordBatch.from_arrays([some], schema=schema))


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
