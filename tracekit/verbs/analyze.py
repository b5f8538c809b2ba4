"""All analytics of a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.progress import SILENT, Progress
from tracekit.verbs._options import Engine, Option, Seed, Store

if TYPE_CHECKING:
    from tracekit.analysis.work import Analysis


def analyze(
    store: Store,
    out: Annotated[str | Path | None, Option("Write every result there, as Parquet.")] = None,
    *,
    seed: Seed = 0,
    engine: Engine = None,
    progress: Progress = SILENT,
) -> Analysis:
    """All analytics of a store, by name; see ``tracekit.analysis.run.analyze``."""
    from tracekit.analysis import run
    from tracekit.store.folder import open_store

    folder = None if out is None else Path(out)
    return run.analyze(open_store(store), folder, seed=seed, engine=engine, progress=progress)
