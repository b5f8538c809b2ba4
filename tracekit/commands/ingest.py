"""tracekit ingest: trace files into a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.constants import MEMORY_LIMIT_BYTES
from tracekit.base.files.places import place
from tracekit.base.progress import SILENT, Progress
from tracekit.commands._options import Argument, Engine, MemoryLimit, Option
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import (
    print_command,
    print_json,
    print_lines,
    print_paragraph,
    print_table,
)
from tracekit.commands.shell.signature import Call, JsonOption

if TYPE_CHECKING:
    from tracekit.intake.ingest import IngestSummary


def ingest(
    source: Annotated[
        str | Path,
        Argument("A trace file or folder; an s3:// URL of one.", metavar="SRC", read=place),
    ],
    store: Annotated[
        str | Path,
        Argument(
            "The store's folder or s3:// URL; made if it is not there.", metavar="STORE", read=place
        ),
    ],
    *,
    release: Annotated[
        str, Option("The trace release: auto, ctm21, ...", completes="sources")
    ] = "auto",
    jobs: Annotated[
        int | None, Option("Files to work at at once; one per core if not given.", minimum=1)
    ] = None,
    memory_limit_bytes: MemoryLimit = MEMORY_LIMIT_BYTES,
    max_rejects_fraction: Annotated[
        float | None,
        Option(
            "Refuse a file with a larger share of broken rows, e.g. 0.01.", names="--max-rejects"
        ),
    ] = None,
    replace: Annotated[
        bool, Option("Take each file in place of the one of its name that the store has.")
    ] = False,
    engine: Engine = None,
    progress: Progress = SILENT,
) -> IngestSummary:
    """Take trace files into a store; see ``tracekit.intake.ingest.write.ingest``.

    With a Spark ``engine`` the files are read and sorted by its executors, one file a task.
    """
    # loading the readers takes seconds on a busy machine
    progress.say(f"reading {source}")
    from tracekit.intake.ingest import write

    crew = None
    if engine is not None:
        from tracekit.store.spark import crew_of  # most ingests begin without it

        crew = crew_of(engine, jobs)
    try:
        return write.ingest(
            source,
            store,
            release=release,
            jobs=jobs,
            memory_limit_bytes=memory_limit_bytes,
            max_rejects_fraction=max_rejects_fraction,
            replace=replace,
            crew=crew,
            progress=progress,
        )
    finally:
        if crew is not None:
            crew.close()


PANEL = Panel.data


def command(call: Call, store: Path, json: JsonOption = False) -> None:
    """Take trace files into a store; run again to add files or to resume.

    Archives, CSV and Parquet are told apart by content. Broken rows go to the
    rejects with file, line and reason; see: tracekit check STORE.

    Example: tracekit ingest traces/ mystore --max-rejects 0.01
    """
    from tracekit.intake.ingest.summary import facts_of_files
    from tracekit.report.terminal import facts_in_full

    summary = call()
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
    print_lines(facts_in_full([*facts_of_files(summary), *summary.doubts]))


def _broken(summary: IngestSummary, store: Path) -> None:
    """Print the reasons of rejected rows, and the command that shows these rows."""
    import shlex

    from tracekit.report.terminal import facts_in_full
    from tracekit.store.broken_rows import broken_rows

    broken = broken_rows(summary.ingested)
    print_lines(facts_in_full(broken))
    if broken:
        print_paragraph("Each broken row, with its file, line and reason:")
        print_command(f"tracekit query {shlex.quote(str(store))} 'FROM reject'")


def _document(summary: object) -> dict[str, object]:
    import dataclasses

    from tracekit.intake.ingest.summary import IngestSummary, facts_of_files
    from tracekit.store.broken_rows import broken_rows

    assert isinstance(summary, IngestSummary)  # noqa: S101 - narrows the lazily imported type
    facts = (*broken_rows(summary.ingested), *facts_of_files(summary), *summary.doubts)
    return {
        "store": str(summary.store),
        "ingested": [dataclasses.asdict(entry) for entry in summary.ingested],
        "known": [{"file": name, "same_as": same} for name, same in summary.known],
        "mended": list(summary.mended),
        "anew": summary.anew,
        "again": list(summary.again),
        "replaced": list(summary.replaced),
        "facts": [one.document() for one in facts],
        "passed_over": [{"file": n, "reason": reason} for n, reason in summary.passed_over],
    }
