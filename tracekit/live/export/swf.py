"""The Standard Workload Format 1.7 of job logs: one job for each container."""

import numpy as np

from tracekit.base.units import BYTES_PER_KIB, MILLI_PER_CORE, MS_PER_S
from tracekit.cluster.workload import Workload
from tracekit.live.export._format import Format, Written
from tracekit.live.export._left import Left
from tracekit.live.export._workload import carried, ends_ms, lost, use_is_recorded, whole_cores

_UNKNOWN = -1


def _write(left: Left) -> Written:
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
    """Seconds of CPU and KiB in use of each processor on average; -1 where not recorded."""
    total, steps = np.zeros((2, load.containers.count)), np.zeros(load.containers.count)
    for step in range(len(load.use.times_ms)):
        there = load.present(step)
        total[:, there] += load.use.at(step)[:, there]
        steps += there
    mean = total / np.maximum(steps, 1)
    known = use_is_recorded(load) & (steps > 0)
    cpu_s = np.rint(mean[0] / MILLI_PER_CORE / processors * run_s)
    used_kib = np.rint(mean[1] / BYTES_PER_KIB / processors)
    return np.where(known, cpu_s, _UNKNOWN), np.where(known, used_kib, _UNKNOWN)


FORMAT = Format(name="swf", title="a job log: one job a container, cores and memory", write=_write)
