"""tracekit duckdb: the plain duckdb CLI on a store."""

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from tracekit.commands.shell.command import Panel

PANEL = Panel.look


def command(
    store: Annotated[Path, typer.Argument(help="The store's folder.", metavar="STORE")],
    sql: Annotated[
        str | None, typer.Argument(help="Run this statement and end.", metavar="[SQL]")
    ] = None,
    as_option: Annotated[
        str | None, typer.Option("-c", help="The same, as the duckdb CLI takes it.", metavar="SQL")
    ] = None,
) -> None:
    """Open a store in the duckdb CLI: every table and query is a view.

    The catalog, STORE/catalog.duckdb, opens from any folder: duckdb STORE/catalog.duckdb. Its views
    name their files by their full paths; this command mends them where the store was moved or
    copied.

    Example: tracekit duckdb mystore
    """
    from tracekit.base.errors import TracekitError
    from tracekit.store.catalog import mend_catalog
    from tracekit.store.folder import open_store

    sql = as_option if sql is None else sql
    catalog = mend_catalog(open_store(store))
    where = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    program = shutil.which("duckdb", path=where)
    if program is None:
        raise TracekitError(
            "the duckdb CLI is not installed",
            hint=f"pip install duckdb-cli; or without it: tracekit query {store} 'SELECT ...'",
        )
    sys.stdout.flush()
    # the CLI replaces this process, so Ctrl-C is its own
    os.execv(program, [program, "-readonly", str(catalog), *(["-c", sql] if sql else [])])  # noqa: S606
