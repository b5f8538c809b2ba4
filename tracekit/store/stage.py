"""One source file on its way into the store: read aside first, then sorted into place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.ingest.discover import TraceFile
from tracekit.ingest.parse import no_rejects, row_schema
from tracekit.ingest.read import Reading, read_file, table_of
from tracekit.ingest.validate import CleanBlock
from tracekit.store.dimensions import LocalKeys, extend, read_dimension, write_dimension
from tracekit.store.folder import dimension_path, part_path, rejects_path
from tracekit.store.manifest import Defect, Manifest, SourceEntry
from tracekit.store.sort import Written, write_sorted
from tracekit.tables import Table

REJECTS = pa.schema(
    [
        ("source_file", pa.string()),
        ("line", pa.int64()),
        ("column", pa.string()),
        ("reason", pa.string()),
        ("text", pa.string()),
    ]
)


@dataclass
class Staged:
    """A source file's clean rows in a staging folder, with local keys."""

    file: TraceFile
    table: Table
    folder: Path
    reading: Reading
    keys: dict[str, LocalKeys]
    rows_read: int = 0
    rejects: list[pl.DataFrame] = field(default_factory=list)
    blocks: list[Path] = field(default_factory=list)

    @property
    def content(self) -> str:
        """The identity of the file's unpacked content."""
        return self.reading.content

    @property
    def rejected(self) -> int:
        """The number of broken rows."""
        return sum(frame.height for frame in self.rejects)


def stage(file: TraceFile, folder: Path, on_read: Callable[[int], None]) -> Staged:
    """Read a whole file into the staging folder; raises TracekitError when it is damaged."""
    (folder / "rows").mkdir(parents=True)
    table = table_of(file.match)
    staged = Staged(file, table, folder, Reading(), {e: LocalKeys() for e in table.entities})
    for number, block in enumerate(_blocks(file, staged.reading, on_read)):
        staged.rows_read += block.rows_read
        if block.rejects.height:
            staged.rejects.append(block.rejects)
        encoded = block.frame.with_columns(
            staged.keys[column.entity or ""].encode(block.frame[column.name]).alias(column.name)
            for column in table.ids
        )
        path = folder / "rows" / f"{number:06d}.arrow"
        encoded.write_ipc(path, compression="uncompressed")
        staged.blocks.append(path)
    return staged


def _blocks(
    file: TraceFile, reading: Reading, on_read: Callable[[int], None]
) -> Iterator[CleanBlock]:
    """The file's blocks; one without any row still gives one, so that its columns are known."""
    empty = True
    for block in read_file(file, reading, on_read):
        empty = False
        yield block
    if empty:
        yield CleanBlock(pl.DataFrame(schema=row_schema(table_of(file.match))), no_rejects())


def commit(
    staged: Staged, store: Path, manifest: Manifest, sort_memory_bytes: int
) -> tuple[SourceEntry, dict[str, int]]:
    """Sort the staged rows, move everything into place; the manifest is the caller's to write.

    Returns the entry for the manifest and the new number of ids of each entity.
    """
    part = 1 + max((entry.part for entry in manifest.parts(staged.table.name)), default=-1)
    moves: dict[Path, str] = {}
    sizes = dict(manifest.dimensions)
    keys: dict[str, pl.Series] = {}
    for entity, local in sorted(staged.keys.items()):
        dimension = read_dimension(store, entity, manifest)
        whole, keys[entity] = extend(dimension, local.ids())
        sizes[entity] = whole.height
        aside = staged.folder / f"{entity}.parquet"
        write_dimension(aside, whole)
        moves[aside] = dimension_path(entity)
    rows = staged.folder / "part.parquet"
    written = write_sorted(staged.blocks, keys, staged.table, rows, sort_memory_bytes)
    moves[rows] = part_path(staged.table.name, part)
    if staged.rejects:
        moves[_write_rejects(staged)] = rejects_path(staged.table.name, part)
    # everything is written; moving it takes no room on the disk and next to no time
    for source, target in moves.items():
        _move(source, store / target)
    return _entry(staged, part, written), dict(sorted(sizes.items()))


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    source.replace(target)


def _write_rejects(staged: Staged) -> Path:
    rejects = pl.concat(staged.rejects).select(
        pl.lit(staged.file.name).alias("source_file"), "line", "column", "reason", "text"
    )
    aside = staged.folder / "rejects.parquet"
    pq.write_table(rejects.to_arrow().cast(REJECTS), aside, compression="zstd")
    return aside


def _entry(staged: Staged, part: int, written: Written) -> SourceEntry:
    return SourceEntry(
        file=staged.file.name,
        size_bytes=staged.file.size_bytes,
        sha256=staged.reading.sha256,
        content=staged.content,
        release=staged.file.match.source.name,
        table=staged.table.name,
        part=part,
        rows_read=staged.rows_read,
        rows=written.rows,
        rejected=staged.rejected,
        duplicates_dropped=written.exact_duplicates + written.key_duplicates,
        time_min_ms=written.time_min_ms,
        time_max_ms=written.time_max_ms,
        defects=tuple(_defects(staged, written)),
    )


def _defects(staged: Staged, written: Written) -> Iterator[Defect]:
    counts = staged.reading.counts
    for (column, spelling), rows in sorted(counts.missing.items()):
        kind = staged.table.column(column).kind
        yield Defect(
            defect="missing_value" if kind == "number" else "missing_name",
            column=column,
            rows=rows,
            action="kept as NULL",
            example=spelling or "(empty)",
        )
    for column, rows in sorted(counts.above.items()):
        usual = staged.table.column(column).usual_maximum
        yield Defect(
            defect="out_of_range", column=column, rows=rows, action="kept", example=f"> {usual:g}"
        )
    if written.exact_duplicates:
        yield _duplicates("exact_duplicate", written.exact_duplicates, written.duplicate_line)
    if written.key_duplicates:
        yield _duplicates("conflicting_duplicate", written.key_duplicates, written.conflict_line)
    for (column, reason), (rows, line) in _reject_kinds(staged.rejects).items():
        yield Defect(
            defect=reason, column=column, rows=rows, action="rejected", example=f"line {line}"
        )


def _duplicates(defect: str, rows: int, line: int | None) -> Defect:
    return Defect(
        defect=defect, column="", rows=rows, action="dropped, first kept", example=f"line {line}"
    )


def _reject_kinds(rejects: list[pl.DataFrame]) -> dict[tuple[str, str], tuple[int, int]]:
    """Rows and first line of each kind of reject, by column and kind."""
    kinds: dict[tuple[str, str], tuple[int, int]] = {}
    for frame in rejects:
        for line, column, reason in frame.select("line", "column", "reason").iter_rows():
            key = (column or "", _kind(reason))
            rows, first = kinds.get(key, (0, line))
            kinds[key] = (rows + 1, first)
    return dict(sorted(kinds.items()))


def _kind(reason: str) -> str:
    if "at least" in reason:
        return "out_of_range"
    if "is empty, expected" in reason:
        return "empty_value"
    if "expected" in reason and "fields" not in reason and "NUL" not in reason:
        return "unparsable_value"
    return "malformed_row"
