"""Workloads for simulators without Kubernetes: OpenDC, and readers of job logs (SWF).

In files for OpenDC a core has 1,000 MHz, so a MHz is a millicore. Memory is in MB of 2^20 bytes, as
``tracekit ingest`` reads it.
"""

import io
import json

import numpy as np
import polars as pl

from tracekit.base.units import BYTES_PER_KIB, BYTES_PER_MIB, MILLI_PER_CORE, MS_PER_S
from tracekit.cluster.workload import Workload
from tracekit.live.export._format import (
    ExportSource,
    Format,
    Written,
    carried,
    ends_ms,
    lost,
    use_is_recorded,
    whole_cores,
)


def _opendc(left: ExportSource) -> Written:
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
    """Fragments of equal use; a container without recorded use uses its request."""
    ids = np.arange(load.containers.count, dtype=np.int32)
    recorded, ends = use_is_recorded(load), ends_ms(load)
    pieces = []
    for step, now in enumerate(load.use.times_ms.tolist()):
        begins = np.maximum(load.containers.arrival_ms, now if step else np.iinfo(np.int64).min)
        last = step + 1 == len(load.use.times_ms)
        until = ends if last else np.minimum(ends, now + load.use.step_ms)
        lasting = until > begins
        # a container that arrives between two samples has the use of the next one
        late = load.use.at(step if last else step + 1)[0]
        use = np.nan_to_num(np.where(load.containers.arrival_ms > now, late, load.use.at(step)[0]))
        used = np.where(recorded, use, load.containers.request[:, 0])
        pieces.append(
            pl.DataFrame(
                {
                    "id": ids[lasting],
                    "duration": (until - begins)[lasting],
                    "cpu_usage": np.round(used[lasting].astype(np.float64), 3),
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


opendc = Format(
    name="opendc",
    title="a folder for OpenDC: tasks, fragments, a topology of hosts",
    write=_opendc,
    folder=True,
)


_UNKNOWN = -1


def _swf(left: ExportSource) -> Written:
    load = left.load
    text = "\n".join([*_header(load), *(" ".join(map(str, row)) for row in _jobs(load))])
    facts = (
        *carried(load, rounded=True),
        *lost(load, "placement", "use_over_time", "limits", "priority", "gangs", "rules"),
        *lost(load, "budgets", "further", "background", "memory_of_nodes", "unequal", "zones"),
        *lost(load, "prices", "away"),
    )
    return Written(files={"": f"{text}\n".encode()}, facts=facts)


def _header(load: Workload) -> list[str]:
    cores = load.nodes.capacity[:, 0] // MILLI_PER_CORE
    about = {
        "Version": "2.2",
        "UnixStartTime": int(load.containers.arrival_ms.min(initial=0)) // MS_PER_S,
        "MaxJobs": load.containers.count,
        "MaxRecords": load.containers.count,
        "MaxNodes": load.nodes.count,
        "MaxProcs": int(cores.sum()),
        "Note": "a job is a container; its executable is the number of its service",
    }
    return [f"; {name}: {value}" for name, value in about.items()]


def _jobs(load: Workload) -> list[list[int]]:
    """The 18 fields of each job, in order of submission."""
    begin_s = load.containers.arrival_ms // MS_PER_S
    run_s = np.maximum(-(-(ends_ms(load) - load.containers.arrival_ms) // MS_PER_S), 1)
    processors = whole_cores(load.containers.request[:, 0])
    per_processor = -(-load.containers.request[:, 1] // (processors * BYTES_PER_KIB))
    cpu_s, used_kib = _mean_use(load, processors, run_s)
    service = {name: at for at, name in enumerate(dict.fromkeys(load.containers.services), 1)}
    none = np.full(load.containers.count, _UNKNOWN)
    columns = [
        *(np.arange(1, load.containers.count + 1), begin_s - begin_s.min(initial=0), none, run_s),
        *(processors, cpu_s, used_kib, processors, none),
        *(np.where(load.containers.request[:, 1] > 0, per_processor, _UNKNOWN), np.ones_like(none)),
        *(
            none,
            none,
            np.array([service[name] for name in load.containers.services]),
            none,
            none,
            none,
            none,
        ),
    ]
    rows: list[list[int]] = np.stack([one.astype(np.int64) for one in columns], axis=1).tolist()
    return rows


def _mean_use(load: Workload, processors: np.ndarray, run_s: np.ndarray) -> tuple[np.ndarray, ...]:
    """Mean seconds of CPU and KiB in use per processor, of each job; -1 where not recorded."""
    total, steps = np.zeros((2, load.containers.count)), np.zeros(load.containers.count)
    for step in range(len(load.use.times_ms)):
        at_step = load.present(step)
        total[:, at_step] += load.use.at(step)[:, at_step]
        steps += at_step
    mean = total / np.maximum(steps, 1)
    recorded = use_is_recorded(load) & (steps > 0)
    cpu_s = np.rint(mean[0] / MILLI_PER_CORE / processors * run_s)
    used_kib = np.rint(mean[1] / BYTES_PER_KIB / processors)
    return np.where(recorded, cpu_s, _UNKNOWN), np.where(recorded, used_kib, _UNKNOWN)


swf = Format(name="swf", title="a job log: one job a container, cores and memory", write=_swf)
