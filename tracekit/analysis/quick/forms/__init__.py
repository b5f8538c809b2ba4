"""Queries answered a quicker way than their SQL: one file each, named like the query's file.

DuckDB groups by hashing, whatever the order of the rows. The part of one source file is in the
order of entity and time, and a reader that knows so groups by walking on, a median included. What
the parts of several files give apart can be joined, but for medians. The SQL is what a quick form
must agree with: ``tests/analysis/quick/test_every_form.py`` holds every one to it.
"""

import functools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from tracekit.base import registry
from tracekit.base.files.places import scan_parquet
from tracekit.store.folder import Store
from tracekit.store.query.run import AnyDatabase
from tracekit.store.sqlfiles import SqlFile

#: Fewer rows are answered at once either way; so small a table is left to the SQL.
QUICK_FROM_ROWS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Sorted:
    """What a quick form is made from.

    Attributes
    ----------
    store : where they come from
    parts : the keyed rows of the base table, lazily, each part in the order of entity and time
    database : for the ids of keys
    frames : the rows of the queries that this one reads
    """

    store: Store
    parts: list[pl.LazyFrame]
    database: AnyDatabase
    frames: Mapping[str, pl.DataFrame]


@dataclass(frozen=True, kw_only=True)
class Quick:
    """A query's quick form, with the parameters at their defaults.

    Attributes
    ----------
    query : the query it answers
    table : the base table that it needs in order
    joins_parts : whether it makes do with several parts
    function : gives the rows, columns and types of the query
    """

    query: str
    table: str
    joins_parts: bool = False
    function: Callable[[Sorted], pl.DataFrame]


@functools.cache
def all_quick() -> dict[str, Quick]:
    """Every quick form, by the query it answers."""
    forms = registry.instances(sys.modules[__name__], Quick)
    return {form.query: form for form in forms.values()}


def quick_form(query: SqlFile, store: Store, *, from_rows: int = QUICK_FROM_ROWS) -> Quick | None:
    """The quick form of a query on this store, if it has one that makes do with its parts."""
    form = all_quick().get(query.name)
    if form is None:
        return None
    rows = [part.rows for part in store.manifest.parts(form.table)]
    return form if sum(rows) >= from_rows and (len(rows) == 1 or form.joins_parts) else None


def quick_rows(
    form: Quick, store: Store, database: AnyDatabase, frames: Mapping[str, pl.DataFrame]
) -> pl.DataFrame:
    """The rows of the query."""
    parts = [scan_parquet(file) for file in store.table_files(form.table)]
    return form.function(Sorted(store=store, parts=parts, database=database, frames=frames))
