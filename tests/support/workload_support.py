"""Hand-made files of published workloads, small enough to read."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import polars as pl

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


def written(folder: Path, files: Files) -> Path:
    """The files in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


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
