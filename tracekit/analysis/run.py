"""Runs all analyses for which a store has the tables: queries and computed results, as steps."""

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from graphlib import TopologicalSorter
from pathlib import Path

import polars as pl

from tracekit._version import VERSION
from tracekit.analysis.large import way_of
from tracekit.analysis.results import Inputs, all_results
from tracekit.base.files.result_folder import ResultFolder
from tracekit.base.progress import SILENT, Progress
from tracekit.base.shown import Shown
from tracekit.store.folder import Store
from tracekit.store.query.database import Database
from tracekit.store.query.run import AnyDatabase, open_database
from tracekit.store.sqlfiles import SqlFile, all_queries, in_reading_order
from tracekit.store.tables import all_tables


@dataclass(frozen=True, repr=False)
class Analysis(Shown):
    """The tables that ``analyze`` computed from a store.

    Parameters
    ----------
    frames : dict of str to DataFrame
        Rows by the name of the query (``<subject>/<question>``) or of the computed result.
    missing : dict of str to tuple of str
        Names that were not computed, each with the base tables that the store lacks.
    """

    frames: dict[str, pl.DataFrame] = field(default_factory=dict)
    missing: dict[str, tuple[str, ...]] = field(default_factory=dict)


class Work:
    """The steps of ``analyze``: each query and each computed result, as functions by name.

    A step puts its rows into ``analysis``.
    """

    def __init__(self, store: Store, database: AnyDatabase, analysis: Analysis, seed: int) -> None:
        self._store = store
        self._database = database
        self._analysis = analysis
        self._inputs = Inputs(database=database, frames=analysis.frames, seed=seed)
        self._queries = [q for q in in_reading_order(all_queries()) if not needs_a_choice(q)]

    def steps(self) -> dict[str, Callable[[], None]]:
        """Return each query and each result, in an order that respects their dependencies."""
        queries = {query.name: partial(self._query, query) for query in self._queries}
        results = {name: partial(self._result, name) for name in all_results()}
        return {**queries, **results}

    def without(self, names: Collection[str]) -> dict[str, Callable[[], None]]:
        """Return the steps except the named ones and all that depend on them."""
        left: dict[str, Callable[[], None]] = {}
        after = self.after()
        for name, step in self.steps().items():
            builds_on = [other for other in after[name] if other in after]
            if name not in names and all(other in left for other in builds_on):
                left[name] = step
        return left

    def after(self) -> dict[str, Collection[str]]:
        """Return the queries on which each step depends."""
        names = {query.view_name: query.name for query in self._queries}
        queries = {q.name: [names[r] for r in q.reads if r in names] for q in self._queries}
        return {**queries, **{name: result.queries for name, result in all_results().items()}}

    def _query(self, query: SqlFile) -> None:
        """Add the rows of a query, or its missing tables."""
        missing = tables_missing(self._store, tables_needed(query, all_queries()))
        if missing:
            self._analysis.missing[query.name] = missing
            return
        self._analysis.frames[query.name] = self._rows(query)

    def _rows(self, query: SqlFile) -> pl.DataFrame:
        read_again = any(query.view_name in other.reads for other in all_queries().values())
        if isinstance(self._database, Database) and (way := way_of(query.name, self._store)):
            rows = way(self._store, self._database)
            self._database.put(query, rows)
            return rows
        return self._database.keep(query) if read_again else self._database.frame(query.text)

    def _result(self, name: str) -> None:
        """Add a computed result, or its missing tables."""
        result, absent = all_results()[name], self._analysis.missing
        lacking = [absent[query] for query in result.queries if query in absent]
        own = tables_missing(self._store, result.tables)
        missing = {*own, *(table for tables in lacking for table in tables)}
        if missing:
            absent[name] = tuple(sorted(missing))
            return
        self._analysis.frames[name] = result.function(self._inputs)


#: Queries of this subject are about any tables of the store, and need none.
ABOUT_ANY_TABLE = "quality/"
#: The two tables of containers' use, which stand in for each other.
_OTHER_FORM = {"container_usage": "container_amount", "container_amount": "container_usage"}


def tables_needed(query: SqlFile, queries: Mapping[str, SqlFile]) -> tuple[str, ...]:
    """Return the base tables that a query reads, directly or through views, sorted."""
    by_view = {other.view_name: other for other in queries.values()}
    needed: set[str] = set()
    waiting = [query]
    while waiting:
        one = waiting.pop()
        if one.name.startswith(ABOUT_ANY_TABLE):
            continue
        waiting += [by_view[name] for name in one.reads if name in by_view]
        bases = {name.removesuffix("_keyed").removesuffix("_steps") for name in one.reads}
        needed |= bases & all_tables().keys()
    return tuple(sorted(needed))


def tables_missing(store: Store, needed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the needed base tables that have no rows in the store.

    Of ``container_usage`` and ``container_amount`` one is enough.
    """
    present = {name for name in needed if any(part.rows for part in store.manifest.parts(name))}
    lacking = (name for name in needed if name not in present)
    return tuple(name for name in lacking if _OTHER_FORM.get(name) not in present)


def needs_a_choice(query: SqlFile) -> bool:
    """Return whether a query has a parameter that the user must give, such as the id of a node."""
    return any(param.type == "VARCHAR" and param.default == "''" for param in query.params)


def side_by_side(
    steps: Mapping[str, Callable[[], None]], after: Mapping[str, Collection[str]], lanes: int
) -> Iterator[str]:
    """Run every step once, after the steps on which it depends. Yield its name when it has ended.

    After an error no other step starts, and the error is raised when the running steps have ended.

    Parameters
    ----------
    steps : mapping of str to callable
        In an order that respects the dependencies.
    after : mapping of str to collection of str
        The names on which each step depends; names that are no steps are ignored.
    lanes : int
        The number of threads. With one lane the steps run in this thread, in the given order.
    """
    if lanes == 1:
        for name, step in steps.items():
            step()
            yield name
        return
    builds_on = {name: set(after[name]) & steps.keys() for name in steps}
    weight = _built_on(builds_on)
    waiting = TopologicalSorter(builds_on)
    waiting.prepare()
    ready: list[str] = []
    with ThreadPoolExecutor(lanes) as threads:
        under_way: dict[Future[None], str] = {}
        try:
            while waiting.is_active():
                # the step on which most others depend goes first, then the given order decides
                ready = sorted([*ready, *waiting.get_ready()], key=lambda n: -weight[n])
                while ready and len(under_way) < lanes:
                    name = ready.pop(0)
                    under_way[threads.submit(steps[name])] = name
                for done in wait(under_way, return_when=FIRST_COMPLETED).done:
                    done.result()
                    name = under_way.pop(done)
                    waiting.done(name)
                    yield name
        finally:
            threads.shutdown(cancel_futures=True)


def _built_on(builds_on: Mapping[str, Collection[str]]) -> dict[str, int]:
    """The number of steps that depend on each step, directly or through others."""
    built = {name: set(under) for name, under in builds_on.items()}
    for name in TopologicalSorter(builds_on).static_order():
        for under in builds_on[name]:
            built[name] |= built[under]
    return {name: sum(name in under for under in built.values()) for name in builds_on}


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
    """Run every query that can run without the user's parameters, and compute every result.

    The same seed gives the same intervals.

    Parameters
    ----------
    out : Path, optional
        A folder for all results as ``<name>.parquet``, written completely or not at all.
    engine : str, optional
        See ``tracekit.store.query.run.open_database``.
    without : collection of str
        Queries and results to leave out, with all that depend on them.
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
    ordered = Analysis(in_order, {n: analysis.missing[n] for n in steps if n in analysis.missing})
    if out is not None:
        _write(ordered, out, store, seed)
    return ordered


def _write(analysis: Analysis, out: Path, store: Store, seed: int) -> None:
    document = {
        "tool_version": VERSION,
        "store": store.path.name,
        "seed": seed,
        "missing": analysis.missing,
    }
    with ANALYSIS_FOLDER.writing(out, document) as made:
        for name, frame in analysis.frames.items():
            path = made / f"{name}.parquet"
            path.parent.mkdir(exist_ok=True)
            frame.write_parquet(path)
