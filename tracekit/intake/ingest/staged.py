"""The clean rows that a file gives one table, in a staging folder."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.ipc

from tracekit.intake.read.coded import Keys, key_kinds
from tracekit.intake.read.table_file import Reading
from tracekit.store.folder import Defect
from tracekit.store.tables import Table


@dataclass(frozen=True)
class Staged:
    """Rows of one table from one file, in a staging folder, with the file's own keys for names.

    Attributes
    ----------
    folder : holds the rows, the rejects and the names
    release : the name of the source
    rows, rejected : the number of good and of broken rows
    reject_defects : the kinds of broken rows
    lines_read, lines_broken : lines of the whole file, and those with a reject; None and 0 if rows
        are counted and not lines
    """

    folder: Path
    table: str
    release: str
    reading: Reading
    rows: int
    rejected: int
    reject_defects: tuple[Defect, ...]
    lines_read: int | None = None
    lines_broken: int = 0

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
        """The path of the rejects; no file is there without rejects."""
        return self.folder / "rejects.parquet"

    @property
    def part(self) -> Path:
        """The path of the sorted rows; no file is there before the rows are sorted."""
        return self.folder / "part.parquet"

    def names(self, kind: str) -> pl.Series:
        """The names of a kind, in the order of the file's keys."""
        return pl.scan_ipc(self.folder / f"{kind}.names", glob=False).collect()["id"]

    def keys_path(self, entity: str) -> Path:
        """The path of an array with the store's key of each of the file's keys, int32."""
        return self.folder / f"{entity}.keys.npy"


def write_names(folder: Path, table: Table, keys: Keys) -> None:
    """Write the names of each kind of key of a table, in the order of the keys."""
    for number, kind in enumerate(key_kinds(table)):
        _write_names(folder / f"{kind}.names", keys.texts(number))


def _write_names(path: Path, names: Iterable[pa.Array]) -> None:
    schema = pa.schema([("id", pa.large_string())])
    with pa.ipc.new_file(path, schema) as out:
        for some in names:
            out.write_batch(pa.RecordBatch.from_arrays([some], schema=schema))
