"""Inputs of the simulator OpenDC: tasks, fragments of what they use, a topology of hosts.

A core is 1,000 MHz here, so that a MHz is a millicore. Memory is in MB of 2^20 bytes in both files,
which is how ``tracekit ingest`` reads them again; upstream converts neither.
"""

import io
import json

import numpy as np
import polars as pl

from tracekit.base.units import BYTES_PER_MIB, MILLI_PER_CORE
from tracekit.cluster.workload import Workload
from tracekit.live.export._format import Format, Written
from tracekit.live.export._left import Left
from tracekit.live.export._workload import carried, ends_ms, lost, use_is_recorded, whole_cores


def _write(left: Left) -> Written:
    load = left.load
    files = {
        "tasks.parquet": _parquet(_tasks(load)),
        "fragments.parquet": _parquet(_fragments(load)),
        "topology.json": json.dumps(_topology(load), indent=1).encode(),
    }
    facts = (
        *carried(load, rounded=True),
        *lost(load, "placement", "use_of_memory", "limits", "priority", "gangs", "rules"),
        *lost(load, "budgets", "further", "background", "zones", "prices", "away"),
    )
    return Written(files=files, facts=facts)


def _parquet(frame: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


def _tasks(load: Workload) -> pl.DataFrame:
    cores = whole_cores(load.containers.request[:, 0])
    return pl.DataFrame(
        {
            "id": np.arange(load.containers.count, dtype=np.int32),
            "name": load.containers.ids,
            "submission_time": load.containers.arrival_ms,
            "duration": ends_ms(load) - load.containers.arrival_ms,
            "cpu_count": cores.astype(np.int32),
            "cpu_capacity": (cores * MILLI_PER_CORE).astype(np.float64),
            "mem_capacity": -(-load.containers.request[:, 1] // BYTES_PER_MIB),
        }
    )


def _fragments(load: Workload) -> pl.DataFrame:
    """Pieces of equal use one after another; what is not recorded is what is requested."""
    who = np.arange(load.containers.count, dtype=np.int32)
    recorded, ends = use_is_recorded(load), ends_ms(load)
    pieces = []
    for step, now in enumerate(load.use.times_ms.tolist()):
        begins = np.maximum(load.containers.arrival_ms, now if step else np.iinfo(np.int64).min)
        last = step + 1 == len(load.use.times_ms)
        until = ends if last else np.minimum(ends, now + load.use.step_ms)
        there = until > begins
        # who comes between two samples uses what the next one says
        late = load.use.at(step if last else step + 1)[0]
        use = np.nan_to_num(np.where(load.containers.arrival_ms > now, late, load.use.at(step)[0]))
        used = np.where(recorded, use, load.containers.request[:, 0])
        pieces.append(
            pl.DataFrame(
                {
                    "id": who[there],
                    "duration": (until - begins)[there],
                    "cpu_usage": np.round(used[there].astype(np.float64), 3),
                }
            )
        )
    alike = pl.struct("id", "cpu_usage").rle_id()
    return (
        pl.concat(pieces)
        .sort("id", maintain_order=True)
        .group_by(alike.alias("piece"), maintain_order=True)
        .agg(pl.col("id").first(), pl.col("duration").sum(), pl.col("cpu_usage").first())
        .drop("piece")
    )


def _topology(load: Workload) -> dict[str, object]:
    """One cluster, with a host for each node."""
    hosts = [
        {
            "name": name,
            "count": 1,
            "cpu": {"coreCount": cores, "coreSpeed": MILLI_PER_CORE},
            "memory": {"memorySize": memory},
        }
        for name, cores, memory in zip(
            load.nodes.ids,
            (load.nodes.allocatable[:, 0] // MILLI_PER_CORE).tolist(),
            (load.nodes.allocatable[:, 1] // BYTES_PER_MIB).tolist(),
            strict=True,
        )
    ]
    return {"clusters": [{"name": "cluster", "hosts": hosts}]}


FORMAT = Format(
    name="opendc",
    title="a folder for OpenDC: tasks, fragments, a topology of hosts",
    write=_write,
    folder=True,
)
