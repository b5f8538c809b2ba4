"""Runs every analysis that a store has the tables for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from tracekit.analysis.needs import needs_a_choice, tables_missing, tables_needed
from tracekit.analysis.results import Inputs, Result, all_results
from tracekit.progress import SILENT, Progress, Task
from tracekit.query.engine import AnyDatabase, open_database
from tracekit.sqlfiles import SqlFile, all_queries, in_reading_order
from tracekit.store.folder import Store


@dataclass(frozen=True)
class Analysis:
    """What the analytics of a store gave.

    Parameters
    ----------
    frames : dict of str to DataFrame
        Rows by name: queries as ``<subject>/<question>``, computed results by their own name.
    missing : dict of str to tuple of str
        Results that the store has no rows for, each with the base tables it lacks.
    """

    frames: dict[str, pl.DataFrame] = field(default_factory=dict)
    missing: dict[str, tuple[str, ...]] = field(default_factory=dict)


def analyze(
    store: Store,
    out: Path | None = None,
    *,
    seed: int = 0,
    engine: str | None = None,
    progress: Progress = SILENT,
) -> Analysis:
    """Run every query that needs no choice, then every result computed from their rows.

    With ``out``, each is also written as ``out/<name>.parquet``. The same seed gives the same
    intervals. ``engine`` is what ``tracekit.query.engine.open_database`` understands.
    """
    queries = [q for q in in_reading_order(all_queries()) if not needs_a_choice(q)]
    results = all_results()
    analysis = Analysis()
    steps = len(queries) + len(results)
    with (
        open_database(store, engine) as database,
        progress.task("analyze", steps, "results") as task,
    ):
        for query in queries:
            run_query(store, query, database, analysis)
            _done(query.name, analysis, out, task)
        inputs = Inputs(database=database, frames=analysis.frames, seed=seed)
        for name, result in results.items():
            compute(name, result, inputs, analysis, store)
            _done(name, analysis, out, task)
    return analysis


def run_query(store: Store, query: SqlFile, database: AnyDatabase, analysis: Analysis) -> None:
    """Add a query's rows to the analysis, or what it lacks; kept for queries that build on it."""
    missing = tables_missing(store, tables_needed(query, all_queries()))
    if missing:
        analysis.missing[query.name] = missing
        return
    read_again = any(query.view_name in other.reads for other in all_queries().values())
    analysis.frames[query.name] = database.keep(query) if read_again else database.frame(query.text)


def compute(name: str, result: Result, inputs: Inputs, analysis: Analysis, store: Store) -> None:
    """Add a computed result to the analysis, or what it lacks."""
    lacking = [analysis.missing[query] for query in result.queries if query in analysis.missing]
    missing = {*tables_missing(store, result.tables), *(t for tables in lacking for t in tables)}
    if missing:
        analysis.missing[name] = tuple(sorted(missing))
        return
    analysis.frames[name] = result.function(inputs)


def _done(name: str, analysis: Analysis, out: Path | None, task: Task) -> None:
    if out is not None and name in analysis.frames:
        path = out / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        analysis.frames[name].write_parquet(path)
    task.advance(1, name)
