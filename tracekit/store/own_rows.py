"""What a store has of nodes and containers of somebody's own tables, set down for readers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tracekit.store.folder import STAGING, Store
from tracekit.store.views import read

#: The release of tables that somebody wrote himself, and those that state nodes and containers.
OWN = "folder"
STATED = ("node", "node_resource", "container", "container_resource")


def own_rows(store: Store) -> tuple[tuple[str, Path], ...]:
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
