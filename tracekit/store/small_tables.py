"""The small tables of a store as frames with their ids as texts."""

from __future__ import annotations

import polars as pl

from tracekit.files.places import scan_parquet
from tracekit.store.folder import Store
from tracekit.tables import all_tables


def read(store: Store, name: str) -> pl.DataFrame:
    """A table with its ids as texts, all its parts, in their order."""
    table = all_tables()[name]
    files = store.table_files(name)
    kinds = {"time": pl.Int64, "number": pl.Float64, "id": pl.String, "text": pl.String}
    if not files:
        return pl.DataFrame(schema={c.name: kinds[c.kind] for c in table.columns})
    rows = scan_parquet(*files).collect()
    for column in table.ids:
        assert column.entity is not None  # noqa: S101 - ids have one
        ids = ids_of(store, column.entity)
        rows = rows.with_columns(
            pl.Series(column.name, ids.gather(rows[column.stored_name]), pl.String)
        )
    lacking = [c for c in table.columns if c.name not in rows.columns]  # of an older store
    rows = rows.with_columns(pl.lit(None, kinds[c.kind]).alias(c.name) for c in lacking)
    return rows.select(column.name for column in table.columns)


def ids_of(store: Store, entity: str) -> pl.Series:
    """The original ids of an entity, by key."""
    files = store.dimension_files(entity)
    if not files:
        return pl.Series(entity, [], dtype=pl.String)
    return scan_parquet(*files).select("key", "id").collect().sort("key")["id"]
