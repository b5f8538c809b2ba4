"""What there is to analyse in a store: every query and every result, as steps."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

import polars as pl

from tracekit.analysis.edges import QUERY, is_large, service_edges
from tracekit.analysis.results import Inputs, all_results
from tracekit.base.shown import Shown
from tracekit.store.folder import Store
from tracekit.store.query.database import Database
from tracekit.store.query.run import AnyDatabase
from tracekit.store.sqlfiles import SqlFile, all_queries, in_reading_order
from tracekit.store.tables import all_tables


@dataclass(frozen=True, repr=False)
class Analysis(Shown):
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


class Work:
    """What there is to do for a store; what is done stands in ``analysis``."""

    def __init__(self, store: Store, database: AnyDatabase, analysis: Analysis, seed: int) -> None:
        self._store = store
        self._database = database
        self._analysis = analysis
        self._inputs = Inputs(database=database, frames=analysis.frames, seed=seed)
        self._queries = [q for q in in_reading_order(all_queries()) if not needs_a_choice(q)]

    def steps(self) -> dict[str, Callable[[], None]]:
        """Each query and each result, in an order in which they can be done."""
        queries = {query.name: partial(self._query, query) for query in self._queries}
        results = {name: partial(self._result, name) for name in all_results()}
        return {**queries, **results}

    def without(self, names: Collection[str]) -> dict[str, Callable[[], None]]:
        """The steps but for these and those that build on them."""
        left: dict[str, Callable[[], None]] = {}
        after = self.after()
        for name, step in self.steps().items():
            builds_on = [other for other in after[name] if other in after]
            if name not in names and all(other in left for other in builds_on):
                left[name] = step
        return left

    def after(self) -> dict[str, Collection[str]]:
        """For each the queries it builds on."""
        names = {query.view_name: query.name for query in self._queries}
        queries = {q.name: [names[r] for r in q.reads if r in names] for q in self._queries}
        return {**queries, **{name: result.queries for name, result in all_results().items()}}

    def _query(self, query: SqlFile) -> None:
        """Add a query's rows, or what it lacks; kept for the queries that build on it."""
        missing = tables_missing(self._store, tables_needed(query, all_queries()))
        if missing:
            self._analysis.missing[query.name] = missing
            return
        self._analysis.frames[query.name] = self._rows(query)

    def _rows(self, query: SqlFile) -> pl.DataFrame:
        read_again = any(query.view_name in other.reads for other in all_queries().values())
        if query.name == QUERY and isinstance(self._database, Database) and is_large(self._store):
            rows = service_edges(self._store, self._database)
            self._database.put(query, rows)
            return rows
        return self._database.keep(query) if read_again else self._database.frame(query.text)

    def _result(self, name: str) -> None:
        """Add a computed result, or what it lacks."""
        result, absent = all_results()[name], self._analysis.missing
        lacking = [absent[query] for query in result.queries if query in absent]
        own = tables_missing(self._store, result.tables)
        missing = {*own, *(table for tables in lacking for table in tables)}
        if missing:
            absent[name] = tuple(sorted(missing))
            return
        self._analysis.frames[name] = result.function(self._inputs)


# Which base tables a query cannot do without.

#: Queries of this subject speak about whatever tables there are.
ABOUT_ANY_TABLE = "quality/"
#: Use in its other form.
_OTHER_FORM = {"container_usage": "container_amount", "container_amount": "container_usage"}


def tables_needed(query: SqlFile, queries: Mapping[str, SqlFile]) -> tuple[str, ...]:
    """Base tables a query reads, itself or through the views it builds on, sorted."""
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
    """The base tables among these that have no row in the store.

    What reads use both as amounts and as shares can do with either.
    """
    there = {name for name in needed if any(part.rows for part in store.manifest.parts(name))}
    lacking = (name for name in needed if name not in there)
    return tuple(name for name in lacking if _OTHER_FORM.get(name) not in there)


def needs_a_choice(query: SqlFile) -> bool:
    """Whether the query is about one entity that the user names."""
    return any(param.type == "VARCHAR" and param.default == "''" for param in query.params)
