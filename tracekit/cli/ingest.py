"""tracekit ingest: trace files into a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import (
    print_command,
    print_json,
    print_lines,
    print_paragraph,
    print_sentence,
    print_table,
)
from tracekit.cli._streams import visible

if TYPE_CHECKING:
    from tracekit.ingest import IngestSummary

PANEL = Panel.data


def command(asked: Asked, store: Path, json: JsonOption = False) -> None:
    """Take trace files into a store; run again to add files or to resume.

    Archives, CSV and Parquet are told apart by content. Broken rows go to the
    rejects with file, line and reason; see: tracekit check STORE.

    Example: tracekit ingest traces/ mystore --max-rejects 0.01
    """
    summary = asked()
    if json:
        print_json({"schema": "tracekit/ingest/1", **_document(summary)})
        return
    rows = [
        [entry.file, entry.table, entry.rows, entry.rejected, entry.duplicates_dropped]
        for entry in summary.ingested
    ]
    if rows:
        print_table(
            f"Ingested into {store}", ["file", "table", "rows", "rejected", "duplicates"], rows
        )
    _broken(summary, store)
    _files(summary)
    if summary.unknown:
        print_sentence(visible(summary.unknown))
    from tracekit.report.terminal import facts_in_full

    print_lines(facts_in_full(summary.doubts))


def _broken(summary: IngestSummary, store: Path) -> None:
    """Why rows are kept apart, and where they are seen."""
    import shlex

    from tracekit.report.terminal import facts_in_full
    from tracekit.store.broken_rows import broken_rows

    broken = broken_rows(summary.ingested)
    print_lines(facts_in_full(broken))
    if broken:
        print_paragraph("Each broken row, with its file, line and reason:")
        print_command(f"tracekit query {shlex.quote(str(store))} 'FROM reject'")


def _files(summary: IngestSummary) -> None:
    """Sentences on single files."""
    if summary.anew:
        print_sentence(
            visible(
                f"{summary.anew} belongs together with earlier files: the store was made anew of"
                " all files, so that what has left since has left, and parts of one use add up"
            )
        )
    for name in summary.again:
        print_sentence(
            visible(
                f"{name} was taken in before with other contents: the old rows stay, rows that say"
                " nothing else count once, and nodes and containers that are stated otherwise are"
                " rejects; to replace the old rows: tracekit ingest --replace FILE STORE"
            )
        )
    for name in summary.replaced:
        print(visible(f"{name}: its earlier version is replaced"))
    silent = [entry.file for entry in summary.ingested if not entry.rows_read]
    if silent:
        one = len(silent) == 1
        its, are, hold = ("its", "it is", "it holds") if one else ("their", "they are", "they hold")
        own = (
            f"gave no rows of {its} own: {are} empty, as an answer without a series is, or what"
            f" {hold} adds to the rows of other files, or is nothing that a store keeps"
        )
        print_sentence(visible(f"{', '.join(silent)} {own}"))
    for name in summary.mended:
        print(f"{name}: what was stored of it was damaged, and is mended")
    for name, same in summary.known:
        print(visible(f"{name}: already in the store{'' if name == same else f' as {same}'}"))
    for name, reason in summary.passed_over:
        print_sentence(visible(f"{name}: {_passed_over(name, reason)}"))


def _passed_over(name: str, reason: str) -> str:
    """Why nothing was read from a file; all is told where a list of one's own may be meant."""
    if name.removesuffix(".gz").endswith(".json"):
        return f"passed over, nothing of it is in the store: {reason}"
    return f"{reason if reason.startswith('is ') else 'not a trace table'}, passed over"


def _document(summary: object) -> dict[str, object]:
    import dataclasses

    from tracekit.ingest import IngestSummary

    assert isinstance(summary, IngestSummary)  # noqa: S101 - narrows the lazily imported type
    return {
        "store": str(summary.store),
        "ingested": [dataclasses.asdict(entry) for entry in summary.ingested],
        "known": [{"file": name, "same_as": same} for name, same in summary.known],
        "mended": list(summary.mended),
        "anew": summary.anew,
        "again": list(summary.again),
        "replaced": list(summary.replaced),
        "unknown": summary.unknown,
        "doubts": [one.document() for one in summary.doubts],
        "passed_over": [{"file": n, "reason": reason} for n, reason in summary.passed_over],
    }
