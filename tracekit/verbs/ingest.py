"""Take trace files into a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.crew.declared import MEMORY_LIMIT_BYTES
from tracekit.base.files.places import place
from tracekit.base.progress import SILENT, Progress
from tracekit.verbs._options import Argument, Engine, MemoryLimit, Option

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
    # loading what reads takes seconds on a busy machine
    progress.told(f"reading {source}")
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
