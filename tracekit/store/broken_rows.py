"""The broken rows of files, a fact for each file, table and kind; the rows are in ``reject``."""

from collections.abc import Sequence

from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact
from tracekit.base.words import counted
from tracekit.store.manifest import REJECTED, Defect, Manifest, SourceEntry
from tracekit.store.unreadable import PARTIAL_DEFECT, UNREAD_DEFECT, WATCH_DEFECT

#: So many kinds of broken rows are facts of their own, the others one together.
_KINDS = 5


def broken_rows(entries: Sequence[SourceEntry]) -> list[Fact]:
    """The kinds of broken rows, most rows first, and one fact for all further kinds."""
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


#: Rejects that are no rows of their table: they are about a whole file or answer.
_NO_ROWS = (WATCH_DEFECT, PARTIAL_DEFECT, UNREAD_DEFECT)


def all_rejected(manifest: Manifest, tables: Sequence[str]) -> TracekitError | None:
    """The error that all rows of a table are rejects, with the first reason; None without any."""
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
    """Where a row of a file is: the objects of a JSON document are counted, not its lines."""
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
