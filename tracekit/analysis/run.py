"""Runs every analysis that a store has the tables for."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tracekit.analysis.side_by_side import side_by_side
from tracekit.analysis.work import Analysis, Work
from tracekit.progress import SILENT, Progress
from tracekit.query.engine import open_database
from tracekit.replacing import replaced_file
from tracekit.store.folder import Store


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

    Two are under way at a time where there are two cores. With ``out``, each is also written as
    ``out/<name>.parquet``. The same seed gives the same intervals.

    Parameters
    ----------
    engine : what ``tracekit.query.engine.open_database`` understands
    without : queries and results to leave out, with all that builds on them
    """
    with open_database(store, engine) as database:
        analysis = Analysis()
        work = Work(store, database, analysis, seed)
        steps = work.without(without)
        with progress.task("analyze", len(steps), "results") as task:
            try:
                for name in side_by_side(steps, work.after(), database.lanes):
                    _write(name, analysis, out)
                    task.advance(1, name)
            except BaseException:
                database.interrupt()
                raise
    in_order = {name: analysis.frames[name] for name in steps if name in analysis.frames}
    return Analysis(in_order, {n: analysis.missing[n] for n in steps if n in analysis.missing})


def _write(name: str, analysis: Analysis, out: Path | None) -> None:
    if out is not None and name in analysis.frames:
        path = out / f"{name}.parquet"
        with replaced_file(path) as made:
            analysis.frames[name].write_parquet(made)
