"""tracekit query: one SQL file of queries/ (or any other) on a store."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracekit.base.words import counted
from tracekit.commands._options import Argument, Engine, Option, Store, key_values, named_files
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import (
    format_of_file,
    print_frame,
    print_json,
    rows_of,
    write_frame,
)
from tracekit.commands.shell.signature import Call, JsonOption

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

    A statement reads the tables of the store and those of ``read``, and no other file. It changes
    nothing. On large tables some queries are computed without their SQL; see
    ``tracekit.analysis.large``.
    """
    from tracekit.analysis.large import run_query
    from tracekit.store.folder import open_store
    from tracekit.store.query import run
    from tracekit.store.query.run import check_only_reads, read_own_tables
    from tracekit.store.spark import is_spark
    from tracekit.store.sqlfiles import all_queries, get_query

    if name.removesuffix(".sql") not in all_queries():
        check_only_reads(get_query(name).text, on_spark=is_spark(engine))
    opened, own = open_store(store), read_own_tables(read or {})
    if engine:
        return run(opened, name, params, engine=engine, own=own)
    return run_query(opened, name, params, own=own)


PANEL = Panel.look


class Format(StrEnum):
    """How rows are printed or written."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


def command(
    call: Call,
    store: Path,
    name: str,
    params: Mapping[str, str | float | bool] | None = None,
    output_format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.table,
    out: Annotated[
        Path | None, typer.Option(help="Write to this file instead.", metavar="FILE")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run one query, or a SELECT statement, and print its rows.

    Tables and queries are views: usage/zone_summary is usage_zone_summary. Nothing is changed.
    The files of queries run in the plain duckdb CLI too: tracekit duckdb STORE

    Example: tracekit query mystore "SELECT zone, count(*) FROM usage_node_profile GROUP BY zone"
    """
    from tracekit.base.files.places import here
    from tracekit.store.sqlfiles import is_sql

    written = None if out is None else here(out)
    _check_output(written, output_format.value, json=json)
    if written is not None:
        _check_outside(written)
    frame = call()
    if json:
        print_json(_document(name, frame))
    elif written is not None:
        write_frame(frame, written, output_format.value)
        print(f"{counted(frame.height, 'row')} written to {written}")
    else:
        print_frame(frame, output_format.value, title="" if is_sql(name) else name)
    missing = [] if frame.height else _missing(store, name)
    if missing:
        print(f"no rows: the store has none in {', '.join(missing)}", file=sys.stderr)
    elif params and not frame.height:
        given = ", ".join(f"{one}={value}" for one, value in params.items())
        print(f"no rows with {given}", file=sys.stderr)


def _check_output(out: Path | None, output_format: str, *, json: bool) -> None:
    """Refuse contradictory options for the output."""
    from tracekit.base.errors import TracekitError

    if json and out is not None:
        raise TracekitError(
            "--json prints a document and --out writes a file: give one of them",
            hint="the rows as JSON in a file: --out rows.json, without --json",
        )
    if json and output_format != Format.table:
        raise TracekitError(
            f"--json and --format {output_format} are two formats: give one of them",
            hint="--json has the types of the columns, too; --format json has the rows alone",
        )
    if out is not None:
        format_of_file(out, output_format)


def _check_outside(out: Path) -> None:
    """Refuse an output file inside a store or a result."""
    from tracekit.base.errors import TracekitError
    from tracekit.base.files.result_folder import document_of
    from tracekit.store.folder import is_store

    for folder in out.absolute().parents:
        if is_store(folder) or document_of(folder) is not None:
            raise TracekitError(
                f"{out} lies in {folder}, which tracekit wrote: rows could replace a part of it",
                hint="write to a file outside of it",
            )


def _document(name: str, frame: Any) -> dict[str, Any]:
    """The JSON document: names and types of columns, and rows; NaN becomes null."""
    return {
        "schema": "tracekit/query/1",
        "query": name.strip(),
        "columns": {name: str(kind) for name, kind in frame.schema.items()},
        "rows": rows_of(frame),
    }


def _missing(store: Path, name: str) -> tuple[str, ...]:
    """The empty base tables that a query needs."""
    from tracekit.analysis.run import tables_missing, tables_needed
    from tracekit.store.folder import open_store
    from tracekit.store.sqlfiles import all_queries

    queries = all_queries()
    if name not in queries:
        return ()
    return tables_missing(open_store(store), tables_needed(queries[name], queries))
