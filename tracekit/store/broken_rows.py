"""Facts on broken rows by file, table and kind; and the quality tables of a store.

The rows themselves are in the table ``reject``. The quality tables have the defects that ingest
found, and the files that it read.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact
from tracekit.base.files.durable import put
from tracekit.base.words import counted
from tracekit.store.folder import REJECTED, Defect, Manifest, SourceEntry, Store

# How reasons begin for documents of a cluster that are rejected before their kind is known. Readers
# write them; the count of rejects by kind recognises by them the rejects of no kind.

NO_JSON = "is no JSON"
VALUE_CUT_OFF = "is cut off: the file ends before the value does"
LIST_CUT_OFF = "is cut off: the file ends before the list does"
NESTED = "is nested too deeply"
TOO_LONG = "holds a number of too many digits"
TOO_LARGE = "is longer than the 16 MiB that are read of one object"
NO_OBJECT = "is no object of Kubernetes"
#: A reject without an object: the log lacks the changes up to its next event.
WATCH_ENDED = "is an error of the watch"

#: A reject of an answer that was read, but may be incomplete.
PARTIAL_ANSWER = "is of an answer that came with a warning"

#: A reject without a row: the file has the content of a table under other metrics only.
UNREAD = "is of metrics that are not read"

UNREADABLE = (NO_JSON, VALUE_CUT_OFF, LIST_CUT_OFF, NESTED, TOO_LONG, TOO_LARGE, NO_OBJECT)

#: The defects under which these rejects are counted.
UNREADABLE_DEFECT, WATCH_DEFECT = "unreadable_document", "watch_error"
PARTIAL_DEFECT = "partial_answer"
UNREAD_DEFECT = "metric_not_read"


#: The number of kinds of broken rows with a fact of their own; the others share one fact.
_KINDS = 5


def broken_rows(entries: Sequence[SourceEntry]) -> list[Fact]:
    """Return facts on kinds of broken rows, the largest first; kinds after the fifth share one."""
    kinds = [
        (defect.rows, entry, defect)
        for entry in entries
        for defect in entry.defects
        if defect.action == REJECTED
    ]
    kinds.sort(key=lambda one: (-one[0], one[1].file, one[1].table, one[2].column))
    facts = [_of_kind(entry, defect) for _, entry, defect in kinds[:_KINDS]]
    further = kinds[_KINDS:]
    if further:
        rows = sum(count for count, *_ in further)
        about = {"kinds": len(further)}
        facts.append(
            Fact(
                kind="broken_rows",
                subject="trace",
                value=rows,
                unit="rows",
                because="further",
                about=about,
            )
        )
    return facts


#: Rejects that are about a whole file or answer, and not about a row.
_NO_ROWS = (WATCH_DEFECT, PARTIAL_DEFECT, UNREAD_DEFECT)


def all_rejected(manifest: Manifest, tables: Sequence[str]) -> TracekitError | None:
    """Return an error on the first of ``tables`` whose rows are all rejects, else None."""
    for table in tables:
        entries = manifest.parts(table)
        broken = [
            (entry, defect)
            for entry in entries
            for defect in entry.defects
            if defect.action == REJECTED and defect.defect not in _NO_ROWS
        ]
        if broken and not any(one.rows for one in entries):
            entry, first = broken[0]
            where, _, reason = first.example.partition(": ")
            column = f"{first.column} " if first.column else ""
            return TracekitError(
                f"{entry.file}: all {counted(entry.rejected, 'row')} of {table} are rejects, the"
                f" first at {where}: {column}{reason}",
                hint="mend the file, then take it in: tracekit ingest --replace FILE STORE",
            )
    return None


def place_in(file: str, line: int) -> str:
    """Return the place of a row in a file: ``line 7``, or ``object 7`` of a JSON document."""
    json = file.removesuffix(".gz").endswith(".json")
    return f"{'object' if json else 'line'} {line}"


def _of_kind(entry: SourceEntry, defect: Defect) -> Fact:
    return Fact(
        kind="broken_rows",
        subject=entry.file,
        value=defect.rows,
        unit="rows",
        because="none_kept" if entry.rejected == entry.rows_read else "",
        about={
            "table": entry.table,
            "column": defect.column or None,
            "of": entry.units_read,
            "example": defect.example,
        },
    )


# numpy and Python values as Arrow arrays, without ``pyarrow.array`` and without casts.
#
# The one imports pandas where it is installed, the others ``pyarrow.compute``, and either takes
# longer than ingesting a small file.

#: Rows of a row group: as many as DuckDB reads at once.
ROW_GROUP_ROWS = 122_880
_MOST_TEXT_BYTES = 2**31 - 1


def arrow_array(values: NDArray[np.generic], absent: BoolArray | None = None) -> pa.Array:
    """Return a numpy array as an Arrow array without a copy; values are NULL where ``absent``."""
    validity = None
    if absent is not None and absent.any():
        validity = pa.py_buffer(np.packbits(~absent, bitorder="little"))
    content = pa.py_buffer(np.ascontiguousarray(values))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, values.size, [validity, content])


def arrow_strings(texts: pl.Series) -> pa.Array:
    """Return texts as an Arrow array of strings. Raise ArrowInvalid for 2 GiB of them."""
    large = texts.to_arrow(compat_level=pl.CompatLevel.oldest())
    validity, offsets, content = large.buffers()
    places = np.frombuffer(offsets, dtype=np.int64, count=large.offset + len(large) + 1)
    if places[-1] > _MOST_TEXT_BYTES:
        return large.cast(pa.string())
    narrow = pa.py_buffer(places.astype(np.int32))
    return pa.Array.from_buffers(
        pa.string(), len(large), [validity, narrow, content], offset=large.offset
    )


def arrow_table(rows: Sequence[Mapping[str, object]], schema: pa.Schema) -> pa.Table:
    """Return dictionaries as the rows of an Arrow table, whose columns are int64 or strings."""
    columns = [_arrow_column([row[field.name] for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _arrow_column(values: Sequence[object], kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):
        return arrow_strings(pl.Series(values, dtype=pl.String))
    return pl.Series(values, dtype=pl.Int64).to_arrow()


def in_groups(pieces: Iterator[pa.Table], group_rows: int) -> Iterator[pa.Table]:
    """Yield the rows of ``pieces`` in tables of ``group_rows`` rows; the last may be shorter."""
    pending: list[pa.Table] = []
    rows = 0
    for piece in pieces:
        rest = piece
        while rows + rest.num_rows >= group_rows:
            missing = group_rows - rows
            yield pa.concat_tables([*pending, rest.slice(0, missing)]).combine_chunks()
            rest, pending, rows = rest.slice(missing), [], 0
        if rest.num_rows:
            pending.append(rest)
            rows += rest.num_rows
    if pending:
        yield pa.concat_tables(pending).combine_chunks()


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
    """Write the quality tables of a store, on defects and source files, as Parquet."""
    moves = {}
    for path, table in quality_tables(store.manifest.sources):
        target = store.path / path
        target.parent.mkdir(exist_ok=True)
        aside = target.with_name(f".{target.name}.new")
        write_quality_table(table, aside)
        moves[aside] = target
    put(moves, store.path)


def write_quality_table(table: pa.Table, target: Any) -> None:
    """Write a table as compressed Parquet to a file, or into a buffer."""
    pq.write_table(table, target, compression="zstd")


def quality_tables(sources: Sequence[SourceEntry]) -> Iterator[tuple[str, pa.Table]]:
    """Yield the path in the store and the rows of each quality table: defects and source files."""
    defects = [
        {"source_file": entry.file, "table": entry.table, **vars(defect)}
        for entry in sources
        for defect in entry.defects
    ]
    yield DEFECTS, arrow_table(defects, _DEFECTS_SCHEMA)
    schema = _SOURCES_SCHEMA.append(_LINES) if has_lines(sources) else _SOURCES_SCHEMA
    yield SOURCES, arrow_table([_source_row(entry, schema) for entry in sources], schema)


def has_lines(sources: Sequence[SourceEntry]) -> bool:
    """Return whether quality/sources has the column ``lines_read``: some file states it."""
    return any(entry.lines_read is not None for entry in sources)


def _source_row(entry: SourceEntry, schema: pa.Schema) -> dict[str, object]:
    row = {name: getattr(entry, name) for name in schema.names if name != "source_file"}
    return {"source_file": entry.file, **row}
