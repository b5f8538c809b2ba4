"""All analytics of a store."""

from __future__ import annotations

from pathlib import Path

from tracekit import analysis
from tracekit.progress import SILENT, Progress
from tracekit.store import open_store


def analyze(
    store: str | Path,
    out: str | Path | None = None,
    *,
    seed: int = 0,
    engine: str | None = None,
    progress: Progress = SILENT,
) -> analysis.Analysis:
    """All analytics of a store, by name; see ``tracekit.analysis.run.analyze``."""
    folder = None if out is None else Path(out)
    return analysis.analyze(open_store(store), folder, seed=seed, engine=engine, progress=progress)
