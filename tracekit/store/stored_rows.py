"""Rows that a store held before, written down for readers of further files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from tracekit.base.files.places import is_remote, scan_parquet
from tracekit.base.units import EPOCH_FROM_MS
from tracekit.store.folder import STAGING, Store, part_path
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
    """Write the rows of a store against which further files of a ``release`` are checked.

    The result has the name of each table with the path of its file.
    """
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
    return (write_staged_json(folder, _ENDS, parts),)


def write_staged_json(folder: Path, name: str, some: Sequence[object]) -> tuple[str, Path]:
    """Write rows as JSON to the staging folder ``.staging/own``. Return the name and the path."""
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
    """Return the rows of a table that ingest did not derive, with columns ``FILE`` and ``FOREIGN``.

    ``FILE`` is the source file. ``FOREIGN`` is False for rows of a user's own tables. In the table
    ``node`` all foreign rows of a node are one row, with the last stated value of each field.
    """
    entries = tuple(store.manifest.stated(table))
    rows = read(Store(store.path, replace(store.manifest, sources=entries)), table)
    files = [pl.repeat(one.file, one.rows, dtype=pl.String, eager=True) for one in entries]
    others = [pl.repeat(one.release != OWN, one.rows, eager=True) for one in entries]
    marked = rows.with_columns(pl.concat(files).alias(FILE), pl.concat(others).alias(FOREIGN))
    if table != "node":
        return marked
    last = with_last_values(marked.filter(FOREIGN)).unique("node", keep="last", maintain_order=True)
    return pl.concat([marked.filter(~pl.col(FOREIGN)), last.select(marked.columns)])


def _listed_ids(store: Store, *, at_hand: bool) -> tuple[tuple[str, Path], ...]:
    """The nodes and containers that the store lists, of whatever source, as own rows are.

    Parameters
    ----------
    at_hand : whether the store's tables lie here; else every id that it knows stands for a list
    """
    tables = []
    for entity in LISTS:
        ids = listed_ids(store, entity, at_hand=at_hand)
        if ids is not None:
            named = ids.alias(entity).to_frame()
            tables.append((f"{entity}_ids", _set_aside(store, f"{entity}_ids", named)))
    return tuple(tables)


def listed_ids(store: Store, entity: str, *, at_hand: bool = True) -> pl.Series | None:
    """Return the ids of nodes or containers that the store lists, each once; None if it lists none.

    ``at_hand`` says that the tables can be read here. If it is False, as for tables on an object
    store, the result has all ids of the entity, also those that are not listed.
    """
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


PRICE = "price_per_hour"
_MS, _LABELS = "time_ms", "labels"
#: What says that a node is there; a size does, too. Other fields, such as a price, only add.
_TELLING = ("state", "taints")


def with_last_values(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of the table ``node`` by time, with the last stated value of each field so far.

    There is one row for each node and time. If two files state a field for the same time, the value
    of the first file counts. A source states the absence of taints as ``[]``, and of labels as
    ``{}``. Labels stated without a time since 1970 are added to the labels stated with a time.
    """
    rows = _with_further_labels(rows)
    fields = [one for one in rows.columns if one not in ("node", _MS)]
    # what is stated first of a time comes last, and is what stays
    ordered = rows.reverse().sort(_MS, maintain_order=True)
    filled = ordered.with_columns(pl.col(one).forward_fill().over("node") for one in fields)
    return filled.unique(["node", _MS], keep="last", maintain_order=True)


def _with_further_labels(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows, those with a time with the labels too that a row without a time states."""
    if _LABELS not in rows.columns:
        return rows
    dated = (pl.col(_MS) >= EPOCH_FROM_MS) & pl.col(_LABELS).is_not_null()
    timeless = rows.filter((pl.col(_MS) < EPOCH_FROM_MS) & pl.col(_LABELS).is_not_null())
    further = timeless.unique("node", keep="first").select("node", further=_LABELS)
    if not further.height:
        return rows
    both = rows.join(further, on="node", how="left", maintain_order="left")
    both = both.with_columns(pl.when(dated).then("further").alias("further"))
    merged = [
        own if more is None else _merged(own, more)
        for own, more in both.select(_LABELS, "further").iter_rows()
    ]
    return both.with_columns(pl.Series(_LABELS, merged, pl.String)).drop("further")


def _merged(labels: str, further: str) -> str:
    """Two sets of labels as one, in which the first holds; the first alone where one is none."""
    try:
        own, more = json.loads(labels), json.loads(further)
    except ValueError:
        return labels
    if not (isinstance(own, dict) and isinstance(more, dict)):
        return labels
    return json.dumps({**more, **own}, sort_keys=True)


def followed(rows: pl.DataFrame, resources: pl.DataFrame) -> pl.DataFrame:
    """Return rows as ``with_last_values`` does, from the first that shows that the node exists.

    A row with a state, taints or a size shows it. Such a row without a time since 1970 counts only
    if no other row shows that the node exists. If no row shows it, as when a node has only a price,
    all its rows stay.

    Parameters
    ----------
    resources : DataFrame
        The table ``node_resource``, which has the sizes.
    """
    sized = resources.select("node", _MS, sized=pl.lit(value=True)).unique()
    marked = rows.join(sized, on=["node", _MS], how="left", maintain_order="left")
    stated = [pl.col(one).is_not_null() for one in _TELLING if one in rows.columns]
    showing = marked.filter(pl.any_horizontal("sized", *stated)).select("node", _MS)
    dated = showing.filter(pl.col(_MS) >= EPOCH_FROM_MS)
    telling = pl.concat([dated, showing.join(dated, on="node", how="anti")])
    first = telling.group_by("node").agg(pl.col(_MS).min().alias("first_ms"))
    every = with_last_values(rows).join(first, on="node", how="left", maintain_order="left")
    later = pl.col("first_ms").is_null() | (pl.col(_MS) >= pl.col("first_ms"))
    return every.filter(later).drop("first_ms")
