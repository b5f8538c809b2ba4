"""What somebody's own tables state of what another source states, too: that source's word holds.

Rows that say otherwise are rejects as they are read, where the other source is known by then. What
is left is the same once more, which is counted and left out, and what was taken in before the other
source came: its rows are left out, and an example tells what they say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tracekit.intake.ingest.repeated.once import (
    LEFT_OUT,
    STATED_TWICE,
    Written,
    stand_in,
    without_rows,
    written,
)
from tracekit.store.doubts import OTHERWISE
from tracekit.store.folder import Store, part_path
from tracekit.store.manifest import Defect, Manifest, SourceEntry
from tracekit.store.stored_rows import OWN
from tracekit.store.tables import Table, all_tables
from tracekit.store.views import ids_of

#: What rows of a table are about, and what they state of it.
_ABOUT: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "container": (
        ("container_key",),
        ("time_ms", "service_key", "node_key", "departure_ms", "priority", "gang"),
    ),
    "container_resource": (("container_key", "resource", "unit"), ("request", "limit")),
    "node_resource": (("node_key", "resource", "cell", "unit"), ("amount",)),
}
_ROW, _FIRST, _OTHER = "row\0", "\0first", "other\0"


def is_outranked(manifest: Manifest) -> bool:
    """Whether somebody's own tables, and another source, state the same kind of thing."""
    return any(
        {True, False} == {one.release == OWN for one in manifest.stated(name)} for name in _ABOUT
    )


def without_outranked(folder: Path, manifest: Manifest) -> Written:
    """Write parts of somebody's own tables again without what another source states, too."""
    changed: dict[int, SourceEntry] = {}
    for name in _ABOUT:
        entries = manifest.stated(name)
        others = [one for one in entries if one.release != OWN]
        for entry in (one for one in entries if one.release == OWN and others):
            found = _found(folder, entry, others)
            if found.height:
                rows = found[_ROW].to_numpy().astype(np.int64)
                last = max(one.part for one in (*manifest.parts(name), *changed.values()))
                defect = _defect(Store(folder, manifest), entry, found)
                changed[id(entry)] = without_rows(folder, entry, rows, last + 1, defect)
    return written(manifest, changed)


def _found(folder: Path, entry: SourceEntry, others: Sequence[SourceEntry]) -> pl.DataFrame:
    """The rows of a part that another source has, each beside the row that holds."""
    about, values = _ABOUT[entry.table]
    own = pl.scan_parquet(folder / part_path(entry.table, entry.part), glob=False)
    own = own.select(*about, *values, *(("time_ms",) if "time_ms" not in values else ()))
    rows = own.with_row_index(_ROW).collect()
    keys = rows.select(about).unique()
    theirs = pl.concat(
        pl.scan_parquet(folder / part_path(one.table, one.part), glob=False)
        .select(*rows.columns[1:])
        .join(keys.lazy(), on=about, how="semi", nulls_equal=True)
        .with_columns(pl.lit(one.file).alias("file"))
        .collect()
        for one in others
    )
    # of what changes over time the last holds
    last = theirs.sort("time_ms", maintain_order=True)
    last = last.unique(about, keep="last", maintain_order=True)
    both = rows.join(last, on=about, suffix=_FIRST, nulls_equal=True).sort(_ROW)
    says = (pl.col(one).is_not_null() & _differs(one) for one in values)
    return both.with_columns(pl.any_horizontal(*says).alias(_OTHER))


def _differs(column: str) -> pl.Expr:
    return pl.col(column).ne_missing(pl.col(column + _FIRST))


def _defect(store: Store, entry: SourceEntry, found: pl.DataFrame) -> Defect:
    """What is told of the rows that are left out, with one that says otherwise where any does."""
    table = all_tables()[entry.table]
    others = int(found[_OTHER].sum())
    row = found.sort(_OTHER, descending=True, maintain_order=True).row(0, named=True)
    entities = found[f"{table.entity}_key"].n_unique()
    stand = stand_in(found.height, entities, table, entry.file, row["file"])
    said = "with the same values"
    if others:
        name = ids_of(store, str(table.entity))[row[f"{table.entity}_key"]]
        now, first = _said(store, table, row, ""), _said(store, table, row, _FIRST)
        kept = ", ".join(first[one] for one in now)
        stated = ", ".join(f"{one} {value}" for one, value in now.items())
        said = f"{others:,} with other values, as of {name}: {stated}; what stands there, {kept},"
        said += " counts"
    return Defect(
        defect=OTHERWISE if others else STATED_TWICE,
        column="time_ms",
        rows=found.height,
        action=LEFT_OUT,
        example=f"{stand}, {said}",
    )


def _said(store: Store, table: Table, row: Mapping[str, object], end: str) -> dict[str, str]:
    """The columns in which two rows differ, with the value of one of the two."""
    return {
        name: value
        for name, value in _shown(store, table, row, end)
        if row[_key_of(table, name)] is not None
        and row[_key_of(table, name)] != row[_key_of(table, name) + _FIRST]
    }


def _shown(
    store: Store, table: Table, row: Mapping[str, object], end: str
) -> Iterator[tuple[str, str]]:
    for stored_name in _ABOUT[table.name][1]:
        column = next(one for one in table.columns if one.stored_name == stored_name)
        value = row[stored_name + end]
        if value is not None and column.entity is not None:
            value = ids_of(store, column.entity)[int(str(value))]
        shown = f"{value:,.6g}" if isinstance(value, float) else str(value)
        yield column.name, "empty" if value is None else shown


def _key_of(table: Table, name: str) -> str:
    return next(one.stored_name for one in table.columns if one.name == name)
