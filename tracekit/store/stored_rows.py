"""What readers of files need of the files that a store was made of before, set down for them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from tracekit.base.files.places import is_remote, scan_parquet
from tracekit.store.folder import STAGING, Store, part_path
from tracekit.store.node_fields import held
from tracekit.store.tables import all_tables
from tracekit.store.views import ids_of, read

#: The release of tables that somebody wrote himself, and those that state nodes and containers.
OWN = "folder"
STATED = ("node", "node_resource", "container", "container_resource")
#: What rows that are set aside say of themselves: their file, and whether it is another source's.
FILE, FOREIGN = "file\0", "foreign\0"
#: What is needed of each table to read other files.
_NEEDED: Mapping[str, Sequence[str]] = {
    "container": ("container", "node"),
    "node_resource": ("resource", "unit"),
    "container_resource": ("resource", "unit"),
}
#: The tables that list nodes and containers: whoever stands in none is but named.
LISTS: Mapping[str, Sequence[str]] = {
    "node": ("node", "node_resource"),
    "container": ("container",),
}
#: The paths of the lists of containers that the store has taken in.
TAKEN = "containers_taken"
#: Where counters of a cluster ended.
_ENDS = "counter_end"


def stored_rows(store: Store, folder: Path, release: str) -> tuple[tuple[str, Path], ...]:
    """What files of a release are held against, by table; set down where a store is written."""
    if release != OWN:
        return _counter_ends(store, folder)
    here = Store(folder, store.manifest)
    if is_remote(store.path):
        # its tables lie on the object store alone
        return _listed_ids(here, at_hand=False)
    return (*_stated(here), *_listed_ids(here, at_hand=True))


def _counter_ends(store: Store, folder: Path) -> tuple[tuple[str, Path], ...]:
    """A list of the parts that say where counters ended, each with the last time in it."""
    entries = [one for one in store.manifest.parts(_ENDS) if one.rows]
    if not entries:
        return ()
    parts = [(str(store.path / part_path(_ENDS, one.part)), one.time_max_ms) for one in entries]
    return (set_down(folder, _ENDS, parts),)


def set_down(folder: Path, name: str, some: Sequence[object]) -> tuple[str, Path]:
    """A name, and the JSON file where this is set down for those who read files."""
    path = folder / STAGING / "own" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(some), encoding="utf-8")
    return name, path


def _stated(store: Store) -> tuple[tuple[str, Path], ...]:
    """Where containers are, and units of resources, as far as any source states them: set aside."""
    return tuple(
        (
            table,
            _set_aside(
                store, table, rows_of(store, table).select(columns).unique(maintain_order=True)
            ),
        )
        for table, columns in _NEEDED.items()
        if store.manifest.stated(table)
    )


def rows_of(store: Store, table: str) -> pl.DataFrame:
    """The rows of a table that sources state, with ids as texts, ``FILE`` and ``FOREIGN``.

    Of a node of another source there is one row, with each field as it was last stated.
    """
    entries = tuple(store.manifest.stated(table))
    rows = read(Store(store.path, replace(store.manifest, sources=entries)), table)
    files = [pl.repeat(one.file, one.rows, dtype=pl.String, eager=True) for one in entries]
    others = [pl.repeat(one.release != OWN, one.rows, eager=True) for one in entries]
    marked = rows.with_columns(pl.concat(files).alias(FILE), pl.concat(others).alias(FOREIGN))
    if table != "node":
        return marked
    last = held(marked.filter(FOREIGN)).unique("node", keep="last", maintain_order=True)
    return pl.concat([marked.filter(~pl.col(FOREIGN)), last.select(marked.columns)])


def _listed_ids(store: Store, *, at_hand: bool) -> tuple[tuple[str, Path], ...]:
    """The nodes and containers that the store lists, of whatever source, as own rows are.

    Parameters
    ----------
    at_hand : whether the store's tables lie here; else every id that it knows stands for a list
    """
    found = []
    for entity in LISTS:
        ids = listed_ids(store, entity, at_hand=at_hand)
        if ids is not None:
            named = ids.alias(entity).to_frame()
            found.append((f"{entity}_ids", _set_aside(store, f"{entity}_ids", named)))
    return tuple(found)


def listed_ids(store: Store, entity: str, *, at_hand: bool = True) -> pl.Series | None:
    """The nodes, or containers, that the store lists, each once; None where it lists none."""
    listing = [name for name in LISTS[entity] if any(e.rows for e in store.manifest.parts(name))]
    if not listing:
        return None
    ids = ids_of(store, entity)
    if at_hand:
        ids = ids.gather(pl.concat([_keys(store, name, entity) for name in listing]))
    return ids.unique()


def _keys(store: Store, name: str, entity: str) -> pl.Series:
    column = all_tables()[name].column(entity).stored_name
    keys = scan_parquet(*store.table_files(name)).select(column).unique().collect()[column]
    return keys.drop_nulls()


def _set_aside(store: Store, name: str, rows: pl.DataFrame) -> Path:
    path = store.path / STAGING / "own" / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows.write_parquet(path)
    return path
