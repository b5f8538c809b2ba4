"""Take trace files into a store."""

from __future__ import annotations

from pathlib import Path

from tracekit import store as stores
from tracekit.crew import Crew
from tracekit.progress import SILENT, Progress
from tracekit.store import IngestSummary


def ingest(
    source: str | Path,
    store: str | Path,
    *,
    release: str = "auto",
    jobs: int | None = None,
    memory_limit_bytes: int = 2**30,
    max_rejects_fraction: float | None = None,
    engine: str | None = None,
    progress: Progress = SILENT,
) -> IngestSummary:
    """Take trace files into a store; see ``tracekit.store.write.ingest``.

    With a Spark ``engine`` the files are read and sorted by its executors, one file a task.
    """
    crew = _crew(engine, jobs)
    try:
        return stores.ingest(
            source,
            store,
            release=release,
            jobs=jobs,
            memory_limit_bytes=memory_limit_bytes,
            max_rejects_fraction=max_rejects_fraction,
            crew=crew,
            progress=progress,
        )
    finally:
        if crew is not None:
            crew.close()


def _crew(engine: str | None, jobs: int | None) -> Crew | None:
    """The executors of a Spark engine; None for work on this machine."""
    if engine is None:
        return None
    from tracekit.spark import crew_of  # noqa: PLC0415 - most ingests begin without it

    return crew_of(engine, jobs)
