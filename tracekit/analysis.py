"""All analytics of a store in one go: every query of ``queries/`` that needs no choice."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tracekit.progress import SILENT, Progress
from tracekit.query.database import Database
from tracekit.sqlfiles import SqlFile, all_queries
from tracekit.store.folder import Store


def analyze(
    store: Store, out: Path | None = None, *, progress: Progress = SILENT
) -> dict[str, pl.DataFrame]:
    """Run every query of the store's subjects and return the frames by query name.

    With ``out``, each is also written as ``out/<subject>/<question>.parquet``.
    """
    queries = [query for query in all_queries().values() if not _needs_a_choice(query)]
    frames = {}
    with Database(store) as database, progress.task("analyze", len(queries), "queries") as task:
        for query in queries:
            frames[query.name] = database.frame(query.text)
            if out is not None:
                _write(frames[query.name], out / f"{query.name}.parquet")
            task.advance(1, query.name)
    return frames


def _needs_a_choice(query: SqlFile) -> bool:
    """Whether the query is about one entity that the user names."""
    return any(param.type == "VARCHAR" for param in query.params)


def _write(frame: pl.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.write_parquet(path)
