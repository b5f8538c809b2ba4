"""What one must know of a store: sentences on the broken rows of files, and all of it in short.

The rows themselves are in the view ``reject``.
"""

from collections.abc import Sequence

from tracekit.errors import TracekitError
from tracekit.sources.unreadable import PARTIAL_DEFECT, UNREAD_DEFECT, WATCH_DEFECT
from tracekit.store import never_ran
from tracekit.store.folder import Store
from tracekit.store.manifest import MADE_UP, REJECTED, Defect, Manifest, SourceEntry
from tracekit.words import counted

#: Kinds of broken rows that get a sentence of their own.
_KINDS_TOLD = 5
#: With a larger share of broken rows hardly anything of a file is stored.
_MOST = 0.5


def broken_rows(entries: Sequence[SourceEntry]) -> list[str]:
    """A sentence on broken rows for each file, table and kind, most rows first."""
    kinds = [
        (defect.rows, entry, defect)
        for entry in entries
        for defect in entry.defects
        if defect.action == REJECTED
    ]
    kinds.sort(key=lambda one: (-one[0], one[1].file, one[1].table, one[2].column))
    told = [_one_kind(entry, defect) for _, entry, defect in kinds[:_KINDS_TOLD]]
    further = len(kinds) - len(told)
    if further:
        rows = sum(count for count, *_ in kinds[_KINDS_TOLD:])
        kinds_left = counted(further, "more kind")
        told.append(f"{kinds_left} of broken rows, {counted(rows, 'row')} in all")
    return told


def unread(entries: Sequence[SourceEntry]) -> list[str]:
    """The same of files of which hardly anything is stored, for who does not see each file."""
    return broken_rows([one for one in entries if one.rejected > _MOST * one.units_read])


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


def _one_kind(entry: SourceEntry, defect: Defect) -> str:
    whole = "no row of it is stored: " if entry.rejected == entry.rows_read else ""
    count = (
        f"{defect.rows:,} of {entry.units_read:,} rows {'is' if defect.rows == 1 else 'are'} broken"
    )
    line, _, reason = defect.example.partition(": ")
    what = f"{defect.column} {reason}" if defect.column else reason
    return f"{entry.file}, {entry.table}: {whole}{count}; the first is {line}: {what}"


def caveats(store: Store) -> tuple[str, ...]:
    """That nobody recorded it, files that could not be read, and containers that never ran."""
    made_up = [MADE_UP] if store.manifest.made_up else []
    return (*made_up, *unread(store.manifest.sources), *filter(None, [never_ran.told(store)]))
