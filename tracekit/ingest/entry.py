"""What the manifest says of a file, from what reading and sorting found."""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.ingest.sort import Written
from tracekit.ingest.staged import Staged
from tracekit.read.discover import TraceFile
from tracekit.store.manifest import DERIVED, Defect, SourceEntry
from tracekit.tables import all_tables


def make_entry(
    file: TraceFile, staged: Staged, written: Written, part: int, checksums: dict[str, str]
) -> SourceEntry:
    """The manifest's entry for a file whose rows are part ``part`` of its table."""
    return SourceEntry(
        file=file.name,
        size_bytes=file.size_bytes,
        sha256=staged.reading.sha256,
        content=staged.content,
        release=staged.release,
        table=staged.table,
        part=part,
        rows_read=staged.rows_read,
        rows=written.rows,
        rejected=staged.rejected,
        duplicates_dropped=written.exact_duplicates + written.key_duplicates,
        time_min_ms=written.time_min_ms,
        time_max_ms=written.time_max_ms,
        defects=tuple(_defects(staged, written)),
        checksums=checksums,
    )


def _defects(staged: Staged, written: Written) -> Iterator[Defect]:
    counts, table = staged.reading.counts, all_tables()[staged.table]
    kinds = {column.name: column for column in table.columns}
    for (column, spelling), rows in sorted(counts.missing.items()):
        number = column in kinds and kinds[column].kind == "number"
        yield Defect(
            defect="missing_value" if number else "missing_name",
            column=column,
            rows=rows,
            action="kept as NULL",
            example=spelling or "(empty)",
        )
    # what was worked out is above 1 where use is above the request, which is no defect
    above = {} if staged.release == DERIVED else counts.above
    for column, rows in sorted(above.items()):
        usual = kinds[column].usual_maximum
        yield Defect(
            defect="out_of_range", column=column, rows=rows, action="kept", example=f"> {usual:g}"
        )
    if written.exact_duplicates:
        yield _duplicates("exact_duplicate", written.exact_duplicates, written.duplicate_line)
    if written.key_duplicates:
        yield _duplicates("conflicting_duplicate", written.key_duplicates, written.conflict_line)
    yield from staged.reject_defects


def _duplicates(defect: str, rows: int, line: int | None) -> Defect:
    return Defect(
        defect=defect, column="", rows=rows, action="dropped, first kept", example=f"line {line}"
    )
