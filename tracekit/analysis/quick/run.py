"""One query alone, by the quick forms of those it builds on, where there are any."""

import re
from collections.abc import Collection, Mapping

import polars as pl

from tracekit.analysis.quick.forms import quick_form, quick_rows
from tracekit.store.folder import Store
from tracekit.store.query import Database, run
from tracekit.store.query.run import bind
from tracekit.store.sqlfiles import SqlFile, all_queries, get_query, in_reading_order


def run_quick(
    store: Store,
    name: str,
    params: Mapping[str, str | float | bool] | None = None,
    *,
    own: Mapping[str, pl.DataFrame] | None = None,
) -> pl.DataFrame:
    """The rows of a query, as ``tracekit.store.query.run`` gives them but for the twelfth decimal.

    Large tables of calls do not fit into memory the plain way. A quick form is taken where no
    parameter is given that it would have to heed.

    Raises TracekitError for an unknown query or parameter, or a value of the wrong type.
    """
    query = get_query(name)
    variables = bind(query, params or {})
    quick = [
        one
        for one in _built_on(query)
        if quick_form(one, store) and not _heeded(one) & variables.keys()
    ]
    if not quick:
        return run(store, name, params, own=own)
    with Database(store) as database:
        for table, rows in (own or {}).items():
            database.add(table, rows)
        frames: dict[str, pl.DataFrame] = {}
        wanted = {other.name for one in quick for other in _built_on(one)}
        for one in (one for one in in_reading_order(all_queries()) if one.name in wanted):
            form = quick_form(one, store)
            if form is None:
                frames[one.name] = database.keep(one)
                continue
            frames[one.name] = quick_rows(form, store, database, frames)
            database.put(one, frames[one.name])
        return frames[query.name] if query.name in frames else database.frame(query.text, variables)


def _built_on(query: SqlFile) -> list[SqlFile]:
    """The queries whose views a query reads, and those that these read, and itself."""
    views = {other.view_name: other for other in all_queries().values()}
    found, left = {query.name: query}, [query]
    while left:
        for view in _views_read(left.pop()):
            other = views.get(view)
            if other is not None and other.name not in found:
                found[other.name] = other
                left.append(other)
    return list(found.values())


def _views_read(query: SqlFile) -> Collection[str]:
    """What the header says, or every word of a file without a header."""
    return query.reads or set(re.findall(r"\w+", query.text))


def _heeded(query: SqlFile) -> set[str]:
    """The parameters of a query and of those it builds on."""
    return {param.name for other in _built_on(query) for param in other.params}
