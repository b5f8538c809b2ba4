"""What readers of files need of the files that a store was made of before, set down for them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tracekit.files.places import is_remote
from tracekit.store.folder import STAGING, Store, part_path
from tracekit.store.views import read

#: The release of tables that somebody wrote himself, and those that state nodes and containers.
OWN = "folder"
STATED = ("node", "node_resource", "container", "container_resource")
#: Where counters of a cluster ended.
_ENDS = "counter_end"


def stored_rows(store: Store, folder: Path, release: str) -> tuple[tuple[str, Path], ...]:
    """What files of a release are held against, by table; set down where a store is written."""
    if release != OWN:
        return _counter_ends(store, folder)
    # its ids lie on the object store, too
    return () if is_remote(store.path) else _own_rows(store)


def _counter_ends(store: Store, folder: Path) -> tuple[tuple[str, Path], ...]:
    """A list of the parts that say where counters ended, each with the last time in it."""
    entries = [one for one in store.manifest.parts(_ENDS) if one.rows]
    if not entries:
        return ()
    parts = [(str(store.path / part_path(_ENDS, one.part)), one.time_max_ms) for one in entries]
    path = folder / STAGING / "own" / f"{_ENDS}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(parts), encoding="utf-8")
    return ((_ENDS, path),)


def _own_rows(store: Store) -> tuple[tuple[str, Path], ...]:
    """Each of these tables that has such rows, as a Parquet file with ids as texts, set aside."""
    own = tuple(one for one in store.manifest.sources if one.release == OWN and one.rows)
    held = Store(store.path, replace(store.manifest, sources=own))
    found = []
    for table in STATED:
        if held.manifest.parts(table):
            path = store.path / STAGING / "own" / f"{table}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            read(held, table).write_parquet(path)
            found.append((table, path))
    return tuple(found)
