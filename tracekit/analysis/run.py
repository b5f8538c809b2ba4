"""Runs every analysis that a store has the tables for."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tracekit._version import VERSION
from tracekit.analysis.side_by_side import side_by_side
from tracekit.analysis.work import Analysis, Work
from tracekit.files.result_folder import ResultFolder
from tracekit.progress import SILENT, Progress
from tracekit.query.engine import open_database
from tracekit.store.folder import Store

ANALYSIS_FOLDER = ResultFolder(what="folder of analyses", schema="tracekit/analysis/1")


def analyze(
    store: Store,
    out: Path | None = None,
    *,
    seed: int = 0,
    engine: str | None = None,
    without: Collection[str] = (),
    progress: Progress = SILENT,
) -> Analysis:
    """Run every query that needs no choice, and every result computed from their rows.

    Two are under way at a time where there are two cores. With ``out``, all are also written as
    ``out/<name>.parquet``, whole or not at all. The same seed gives the same intervals.

    Parameters
    ----------
    engine : what ``tracekit.query.engine.open_database`` understands
    without : queries and results to leave out, with all that builds on them
    """
    if out is not None:
        ANALYSIS_FOLDER.check_free(out)
    with open_database(store, engine) as database:
        analysis = Analysis()
        work = Work(store, database, analysis, seed)
        steps = work.without(without)
        with progress.task("analyze", len(steps), "results") as task:
            try:
                for name in side_by_side(steps, work.after(), database.lanes):
                    task.advance(1, name)
            except BaseException:
                database.interrupt()
                raise
    in_order = {name: analysis.frames[name] for name in steps if name in analysis.frames}
    found = Analysis(in_order, {n: analysis.missing[n] for n in steps if n in analysis.missing})
    if out is not None:
        _write(found, out, store, seed)
    return found


def _write(found: Analysis, out: Path, store: Store, seed: int) -> None:
    document = {
        "tool_version": VERSION,
        "store": store.path.name,
        "seed": seed,
        "missing": found.missing,
    }
    with ANALYSIS_FOLDER.writing(out, document) as made:
        for name, frame in found.frames.items():
            path = made / f"{name}.parquet"
            path.parent.mkdir(exist_ok=True)
            frame.write_parquet(path)
