"""Rebuild the call graphs of a store."""

from __future__ import annotations

from pathlib import Path

from tracekit.callgraph import run
from tracekit.progress import SILENT, Progress
from tracekit.spark import crew_of
from tracekit.store import open_store


def callgraph(
    store: str | Path,
    out: str | Path | None = None,
    *,
    mode: str = "repair",
    move: bool = True,
    jobs: int | None = None,
    engine: str | None = None,
    progress: Progress = SILENT,
) -> run.CallGraphs:
    """Rebuild the call graphs of a store; see ``tracekit.callgraph.run.callgraph``."""
    return run.callgraph(
        open_store(store),
        None if out is None else Path(out),
        mode=mode,
        move=move,
        jobs=jobs,
        crew=crew_of(engine),
        progress=progress,
    )
