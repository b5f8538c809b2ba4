"""A cluster written down as a folder of CSV files, and the store and the workload made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tracekit.cluster.source import source_of
from tracekit.cluster.workload import Workload
from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.store.query import Database

#: Two nodes; three containers, of which one states no request and one leaves.
CLUSTER: Mapping[str, Sequence[str]] = {
    "nodes.csv": [
        "node,cpu_milli,memory_bytes,rack",
        "n1,4000,8000,r1",
        "n0,2000,4000,r0",
    ],
    "containers.csv": [
        "container,service,node,arrival_ms,departure_ms,cpu_milli,memory_bytes",
        "b,web,n1,0,,1000,2000",
        "a,web,n0,0,,,",
        "c,db,n1,60000,150000,500,1000",
    ],
    "usage.csv": [
        "container,time_ms,cpu_milli,memory_bytes",
        *(f"b,{at},{100 + at // 1000},1500" for at in range(0, 240_000, 30_000)),
        *(f"a,{at},50,400" for at in range(0, 240_000, 30_000)),
    ],
}


def cluster(folder: Path, changed: Mapping[str, Sequence[str] | None] | None = None) -> Path:
    """The folder; a file that is changed to None is left out."""
    files = {**CLUSTER, **(changed or {})}
    return written(folder, {name: lines for name, lines in files.items() if lines is not None})


def written(folder: Path, files: Mapping[str, Sequence[str]]) -> Path:
    """A folder of files of these lines."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


def store_of(tmp_path: Path, files: Mapping[str, Sequence[str]]) -> Store:
    """The store of a folder of files of these lines."""
    ingest(written(tmp_path / "traces", files), tmp_path / "store", max_rejects_fraction=1.0)
    return open_store(tmp_path / "store")


def stored(tmp_path: Path, changed: Mapping[str, Sequence[str] | None] | None = None) -> Store:
    """The store of such a cluster."""
    ingest(cluster(tmp_path / "cluster", changed), tmp_path / "store", max_rejects_fraction=1.0)
    return open_store(tmp_path / "store")


def rows(store: Store, sql: str) -> list[dict[str, object]]:
    """What a statement says of the store."""
    with Database(store) as database:
        return database.rows(sql)


def workload(store: Store, *assume: str, seed: int = 0) -> Workload:
    """What a replay of the store takes."""
    return source_of(store, None, assume=assume, seed=seed).load()
