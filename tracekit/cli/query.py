"""tracekit query: one SQL file of queries/ (or any other) on a store."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli._asked import Asked
from tracekit.cli._output import print_frame, write_frame
from tracekit.cli._panels import Panel

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
    output_format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.table,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead.")] = None,
) -> None:
    """Run one query and print its rows.

    The same file runs in the plain duckdb CLI from inside the store.

    Example: tracekit query mystore usage/node_profile -p min_samples=20
    """
    frame = asked()
    if out is not None:
        write_frame(frame, out, output_format.value)
        print(f"{frame.height:,} rows written to {out}")
    else:
        print_frame(frame, output_format.value, title=name)
    missing = [] if frame.height else _missing(store, name)
    if missing:
        print(f"no rows: the store has none in {', '.join(missing)}", file=sys.stderr)


def _missing(store: Path, name: str) -> tuple[str, ...]:
    """The base tables without rows that the query cannot do without."""
    from tracekit.analysis.needs import tables_missing, tables_needed
    from tracekit.sqlfiles import all_queries
    from tracekit.store import open_store

    queries = all_queries()
    if name not in queries:
        return ()
    return tables_missing(open_store(store), tables_needed(queries[name], queries))
