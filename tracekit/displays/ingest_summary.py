"""What an ingest took in, file by file."""

from tracekit.ingest import IngestSummary
from tracekit.shown import ROWS, Bar, Page
from tracekit.words import counted


def page(summary: IngestSummary) -> Page:
    """The page of an ingest."""
    taken = summary.ingested
    files = len({entry.file for entry in taken})
    rows: dict[str, int] = {}
    for entry in taken:
        rows[entry.table] = rows.get(entry.table, 0) + entry.rows
    counts = {
        "already in the store": len(summary.known),
        "mended": len(summary.mended),
        "passed over": len(summary.passed_over),
    }
    return Page(
        title=(
            f"Ingest into {summary.store}: {counted(sum(rows.values()), 'row')} of {files:,}"
            " new files"
        ),
        lines=[f"{count:,} files {what}" for what, count in counts.items() if count],
        columns=["file", "table", "rows", "rejected", "duplicates"],
        rows=[
            [one.file, one.table, one.rows, one.rejected, one.duplicates_dropped]
            for one in taken[:ROWS]
        ],
        bars=[Bar(name=name, value=count, strong=True) for name, count in rows.items()],
        axis="rows",
        rest=[
            f".ingested: {counted(len(taken), 'entry')} of files and tables",
            f"what was wrong: tracekit.check({str(summary.store)!r})",
            f"SQL: tracekit.connect({str(summary.store)!r})",
        ],
    )
