"""Rejects of earlier ingests that name nodes or containers which the store has come to know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from tracekit.base.facts import Fact, remark
from tracekit.base.files.places import scan_parquet
from tracekit.store.broken_rows import place_in
from tracekit.store.folder import Store, rejects_path
from tracekit.store.manifest import UNKNOWN_NAME, SourceEntry
from tracekit.store.stored_rows import LISTS, listed_ids

#: What a reason shows of a name, which may be cut off there.
_SHOWN = 60
_NAMED = r"^is '(.*?)', (?:which no file|expected a (?:node|container) of )"


def now_listed(store: Store, before: Sequence[SourceEntry]) -> Iterator[Fact]:
    """A fact of the rejects of these entries that name what a later file lists; none for none."""
    strange = [
        one for one in before if any(defect.defect == UNKNOWN_NAME for defect in one.defects)
    ]
    if not strange:
        return
    paths = [store.path / rejects_path(one.table, one.part) for one in strange]
    rows = scan_parquet(*paths).with_columns(pl.col("reason").str.extract(_NAMED).alias("name"))
    count, first = 0, None
    for entity in LISTS:
        known = listed_ids(store, entity)
        if known is None:
            continue
        names = pl.LazyFrame({"name": known.str.slice(0, _SHOWN).unique()})
        mine = rows.filter(pl.col("column") == entity).join(names, on="name", how="semi")
        found = mine.select(
            pl.len(),
            pl.struct("source_file", "line", "name").sort_by("source_file", "line").first(),
        ).collect()
        some, row = found.row(0)
        count += some
        first = first or (some and f"{entity} '{row['name']}' in {_place(row)}")
    if count:
        yield remark("rejects_listed_later", count, "rows", kind="doubt", example=first or None)


def _place(row: dict[str, object]) -> str:
    file = str(row["source_file"])
    return f"{file} ({place_in(file, int(str(row['line'])))})"
