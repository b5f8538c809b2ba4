"""The quality tables: the defects that ingest met, and the files that it took in."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base.files.durable import put
from tracekit.store.broken_rows import arrow_table
from tracekit.store.folder import Store
from tracekit.store.manifest import SourceEntry

DEFECTS = "quality/defects.parquet"
SOURCES = "quality/sources.parquet"
QUALITY = (DEFECTS, SOURCES)

_DEFECTS_SCHEMA = pa.schema(
    [
        ("source_file", pa.string()),
        ("table", pa.string()),
        ("defect", pa.string()),
        ("column", pa.string()),
        ("rows", pa.int64()),
        ("action", pa.string()),
        ("example", pa.string()),
    ]
)
_SOURCES_SCHEMA = pa.schema(
    [
        ("source_file", pa.string()),
        ("table", pa.string()),
        ("release", pa.string()),
        ("size_bytes", pa.int64()),
        ("sha256", pa.string()),
        ("rows_read", pa.int64()),
        ("rows", pa.int64()),
        ("rejected", pa.int64()),
        ("duplicates_dropped", pa.int64()),
    ]
)
#: A column of the files that is there where it is known of some.
_LINES = pa.field("lines_read", pa.int64())


def write_quality(store: Store) -> None:
    """Write what ingest met, and the files it took in, as Parquet."""
    moves = {}
    for path, table in quality_tables(store.manifest.sources):
        target = store.path / path
        target.parent.mkdir(exist_ok=True)
        aside = target.with_name(f".{target.name}.new")
        write_quality_table(table, aside)
        moves[aside] = target
    put(moves, store.path)


def write_quality_table(table: pa.Table, target: Any) -> None:
    """Write a quality table to a file, or into a buffer."""
    pq.write_table(table, target, compression="zstd")


def quality_tables(sources: Sequence[SourceEntry]) -> Iterator[tuple[str, pa.Table]]:
    """The quality tables, each with its path in the store."""
    defects = [
        {"source_file": entry.file, "table": entry.table, **vars(defect)}
        for entry in sources
        for defect in entry.defects
    ]
    yield DEFECTS, arrow_table(defects, _DEFECTS_SCHEMA)
    schema = _SOURCES_SCHEMA.append(_LINES) if has_lines(sources) else _SOURCES_SCHEMA
    yield SOURCES, arrow_table([_source_row(entry, schema) for entry in sources], schema)


def has_lines(sources: Sequence[SourceEntry]) -> bool:
    """Whether the table of files has the column of lines; what was written earlier stays valid."""
    return any(entry.lines_read is not None for entry in sources)


def _source_row(entry: SourceEntry, schema: pa.Schema) -> dict[str, object]:
    row = {name: getattr(entry, name) for name in schema.names if name != "source_file"}
    return {"source_file": entry.file, **row}
