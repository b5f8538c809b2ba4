"""tracekit query: one SQL file of queries/ (or any other) on a store."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli._options import EngineOption, StoreArgument, key_values
from tracekit.cli._output import print_frame, write_frame


class Format(StrEnum):
    """How rows are printed or written."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


def command(
    store: StoreArgument,
    name: Annotated[str, typer.Argument(help="A query, e.g. usage/zone_summary, or a .sql file.")],
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", help="A parameter, as name=value.")
    ] = None,
    engine: EngineOption = None,
    output_format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.table,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead.")] = None,
) -> None:
    """Run one query and print its rows.

    The same file runs in the plain duckdb CLI from inside the store.

    Example: tracekit query mystore usage/node_profile -p min_samples=20
    """
    import tracekit

    frame = tracekit.query(store, name, key_values(param, option="-p"), engine=engine)
    if out is not None:
        write_frame(frame, out, output_format.value)
        print(f"{frame.height:,} rows written to {out}")
    else:
        print_frame(frame, output_format.value, title=name)
