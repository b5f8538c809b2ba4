"""Run one query on a store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.verbs._options import Argument, Engine, Option, Store, key_values, named_files

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
    read: Annotated[
        Mapping[str, Path | str] | None,
        Option(
            "A table of your own, as name=file or a file alone; repeatable.",
            metavar="[NAME=]FILE",
            takes=list[str] | None,
            read=named_files,
        ),
    ] = None,
    engine: Engine = None,
) -> pl.DataFrame:
    """The rows of one query on a store, or of a SELECT statement; see ``tracekit.store.query.run``.

    A statement reads the tables of the store and those of ``read``, and no other file; it changes
    nothing. Here, queries on large tables of calls and usage are answered by their quick forms; see
    ``tracekit.analysis.quick.run``.
    """
    from tracekit.analysis.quick.run import run_quick
    from tracekit.store.folder import open_store
    from tracekit.store.query import run
    from tracekit.store.query.own_tables import read_own_tables
    from tracekit.store.query.reads import check_only_reads
    from tracekit.store.spark import is_spark
    from tracekit.store.sqlfiles import all_queries, get_query

    if name.removesuffix(".sql") not in all_queries():
        check_only_reads(get_query(name).text, on_spark=is_spark(engine))
    opened, own = open_store(store), read_own_tables(read or {})
    if engine:
        return run(opened, name, params, engine=engine, own=own)
    return run_quick(opened, name, params, own=own)
