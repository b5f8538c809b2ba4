"""Run one query on a store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from tracekit.query import run
from tracekit.quick.run import run_quick
from tracekit.store import open_store


def query(
    store: str | Path,
    name: str,
    params: Mapping[str, str | float | bool] | None = None,
    *,
    engine: str | None = None,
) -> pl.DataFrame:
    """The rows of one query on a store; see ``tracekit.query.run``.

    Here, queries on large tables of calls and usage are answered by their quick forms; see
    ``tracekit.quick.run``.
    """
    opened = open_store(store)
    return run(opened, name, params, engine=engine) if engine else run_quick(opened, name, params)
