"""Run one query on a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from tracekit.verbs._options import Argument, Engine, Option, Store, key_values

if TYPE_CHECKING:
    import polars as pl


def query(
    store: Store,
    name: Annotated[
        str,
        Argument(
            "A query, e.g. usage/zone_summary, a .sql file, or SQL itself.",
            metavar="NAME|SQL",
            completes="queries",
        ),
    ],
    params: Annotated[
        Mapping[str, str | float | bool] | None,
        Option(
            "A parameter, as name=value.",
            names="--param -p",
            takes=list[str] | None,
            read=key_values,
        ),
    ] = None,
    *,
    engine: Engine = None,
) -> pl.DataFrame:
    """The rows of one query on a store, or of a SELECT statement; see ``tracekit.query.run``.

    Here, queries on large tables of calls and usage are answered by their quick forms; see
    ``tracekit.quick.run``.
    """
    from tracekit.query import run
    from tracekit.query.database import check_only_reads
    from tracekit.quick.run import run_quick
    from tracekit.sqlfiles import all_queries, get_query
    from tracekit.store import open_store

    if name.removesuffix(".sql") not in all_queries():
        check_only_reads(get_query(name).text)
    opened = open_store(store)
    return run(opened, name, params, engine=engine) if engine else run_quick(opened, name, params)
