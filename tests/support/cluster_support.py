"""Worlds as files: a cluster as a folder of CSV or Parquet, small files of released workloads.

And the store and the workload made of a folder. Worlds in memory are those of ``replay_support``,
lists of kubectl and series of Prometheus those of ``kubernetes_support``.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

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


POD_COLUMNS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase"
    ",creation_time,deletion_time,scheduled_time"
)
OPENB = {
    "openb_node_list_all_node.csv": [
        "sn,cpu_milli,memory_mib,gpu,model",
        "node-0,4000,8,0,",
        "node-1,8000,16,2,G1",
    ],
    "openb_pod_list_default.csv": [
        POD_COLUMNS,
        "pod-b,3000,4,0,0,,LS,Running,100,400,101",
        "pod-a,2000,4,1,500,,BE,Pending,100,100,",
        "pod-c,1000,2,2,1000,G1,BE,Succeeded,50,90,50",
    ],
}

#: Two applications with curves of three points, three machines, five instances.
TIANCHI = {
    "app_resources.csv": [
        "app_1,0.5|1.25|0.25,1|1|2,40,0,0,0",
        "app_2,2|2|2,4.0|4.0|4.0,60.5,1,0,1",
    ],
    "machine_resources.csv": [
        "machine_1,4,8,100,7,3,7",
        "machine_2,4,8,100,7,3,7",
        "machine_3,8,16,200,7,7,9",
    ],
    "instance_deploy.csv": [
        "inst_1,app_1,machine_1",
        "inst_2,app_1,machine_1",
        "inst_3,app_2,machine_3",
        "inst_4,app_2,",
        "inst_5,app_1,machine_2",
    ],
    "app_interference.csv": ["app_1,app_1,1", "app_1,app_2,0"],
}

_UNIT = 1 << 24
#: A workload folder: a node that a container was recorded on, one without usage, one that leaves.
PARQUET: dict[str, dict[str, list[Any]]] = {
    "nodes": {
        "node": ["n0", "n1"], "cpu_milli": [1000, 2000], "memory_bytes": [100 * _UNIT] * 2,
        "pods": [5, None], "gpu": [0, 2],
    },
    "containers": {
        "container": ["late", "early", "silent"], "service": ["s", None, "s"],
        "node": ["n1", "n0", None], "arrival_ms": [1000, 0, 0], "departure_ms": [None, 2000, 3000],
        "cpu_milli": [100, None, 0], "memory_bytes": [10 * _UNIT, 20 * _UNIT, 0],
        "gpu": [1, 0, 0], "cpu_limit_milli": [200, None, None],
    },
    "usage": {
        "container": ["early", "early", "late", "late"], "time_ms": [0, 1000, 1000, 3000],
        "cpu_milli": [50.0, 60.0, 70.0, 90.0],
        "memory_bytes": [1.0 * _UNIT, 2.0 * _UNIT, 3.0 * _UNIT, 4.0 * _UNIT],
    },
    "background": {
        "node": ["n1"], "time_ms": [1000], "cpu_milli": [500.0], "memory_bytes": [7.0 * _UNIT],
    },
}  # fmt: skip

Files = dict[str, list[str]]


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


def zipped(path: Path, files: Files) -> Path:
    """The files in a zip."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, lines in files.items():
            archive.writestr(f"data/{name}", "\n".join(lines) + "\n")
    return path


def changed(files: Files, name: str, line: int, text: str) -> Files:
    """The files with one line, counted from 1, spelled otherwise."""
    lines = list(files[name])
    lines[line - 1] = text
    return {**files, name: lines}


def parquet_folder(folder: Path, **changes: dict[str, list[Any]] | None) -> Path:
    """The Parquet files in a new folder, some of them changed or left out."""
    folder.mkdir()
    for name, columns in {**PARQUET, **changes}.items():
        if columns is not None:
            pl.DataFrame(columns).write_parquet(folder / f"{name}.parquet")
    return folder
