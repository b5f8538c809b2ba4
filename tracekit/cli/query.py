"""tracekit query: one SQL file of queries/ (or any other) on a store."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli._asked import Asked
from tracekit.cli._output import print_frame, write_frame


class Format(StrEnum):
    """How rows are printed or written."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


def command(
    asked: Asked,
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
