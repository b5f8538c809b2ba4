"""tracekit query: one SQL file of queries/ (or any other) on a store."""

import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tracekit.base.words import counted
from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import format_of_file, print_frame, print_json, rows_of, write_frame

PANEL = Panel.look


class Format(StrEnum):
    """How rows are printed or written."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


def command(
    asked: Asked,
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
    frame = asked()
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
    """Refuse what would be left out without a word, before anything is asked."""
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


def _document(name: str, frame: Any) -> dict[str, Any]:
    """Names, types and rows; a number that is none has no spelling in JSON."""
    return {
        "schema": "tracekit/query/1",
        "query": name.strip(),
        "columns": {name: str(kind) for name, kind in frame.schema.items()},
        "rows": rows_of(frame),
    }


def _missing(store: Path, name: str) -> tuple[str, ...]:
    """The base tables without rows that the query cannot do without."""
    from tracekit.analysis.needs import tables_missing, tables_needed
    from tracekit.store.folder import open_store
    from tracekit.store.sqlfiles import all_queries

    queries = all_queries()
    if name not in queries:
        return ()
    return tables_missing(open_store(store), tables_needed(queries[name], queries))
