"""Virtual machines of Huawei Cloud in 2022: CPU use, steal time, NUMA cells; four sets of files.

Facts: huaweicloud/HUAWEICloudPublicDataset, HuaweiCloudVMSchedulingDataset/README.md.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

import numpy as np

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources._cluster import Head, Opened, Read
from tracekit.sources.released._huawei_vm22_rows import Made, Row, WrongError, rows
from tracekit.units import BYTES_PER_GIB, SECONDS_UP_TO

_GB = float(BYTES_PER_GIB)
_POINT_MS = 300_000
_PRIORITIES = {"F1": 1, "F2": 0}
_MADE_AT_ONCE = 500


def _with(*keys: str) -> Callable[[Head], bool]:
    """Knows a file of JSON lines by keys that its start has; a line may be longer than that."""
    wanted = [re.compile(rf'"{key}"\s*:'.encode()) for key in keys]
    return lambda head: (
        head.start.lstrip()[:1] == b"{" and all(one.search(head.start) for one in wanted)
    )


is_qos = _with("instance_id", "pod_host", "steal_time")
is_hotspot = _with("host_vcpus", "vm_util")
is_online = _with("Created_at_point", "duration_point")
is_offline = _with("pm_id", "cpu_usage")


def _stem(opened: Opened) -> str:
    """The file's name without folders and endings: 50-1 for vm_online_scheduling/50-1.json."""
    name = PurePosixPath(opened.name).name.removesuffix(".gz")
    return re.sub(r"\.(json|jsonl|txt)$", "", name)


def _each(opened: Opened, table: str, take: Callable[[Made, Row, int], None]) -> Read:
    """A function's result for each row; rows that it refuses go to the rejects of a table."""
    made = Made()
    for at, (line, row) in enumerate(rows(opened, table)):
        if not isinstance(row, Row):
            yield row
            continue
        try:
            take(made, row, line)
        except WrongError as wrong:
            yield wrong.broken(table, line, row)
        if at % _MADE_AT_ONCE == _MADE_AT_ONCE - 1:
            yield from made.batches()
    yield from made.batches()


def read_qos(opened: Opened) -> Read:
    """VMs with vCPUs, host and NUMA cells; CPU use in cores, steal time as a fraction."""
    yield from _each(opened, "container", _qos)


def _qos(made: Made, row: Row, line: int) -> None:
    vm, host, cores = row.text("instance_id"), row.text("pod_host"), row.number("vcpus")
    there = row.numbers("times")
    used = row.numbers("cpu_util", len(there)) * cores / 100
    stolen = row.numbers("steal_time", len(there)) / 100
    group = row.text("flavor_group")
    if group not in _PRIORITIES:
        raise WrongError("flavor_group", f"is '{group[:60]}', expected F1 or F2")
    made.node(host, line)
    made.add(
        "container", line, time_ms=0, container=vm, node=host, position=line - 1,
        priority=_PRIORITIES[group], numa_cells=_cells(row),
    )  # fmt: skip
    made.request(vm, line, 0, "cpu", cores)
    known = np.flatnonzero(there != 0)
    made.samples(vm, line, known * _POINT_MS, "cpu", used[known])
    made.samples(vm, line, known * _POINT_MS, "steal_time", stolen[known])


def _cells(row: Row) -> int | None:
    """Over how many NUMA cells a VM is spread: cells are numbers, lists of them, or objects."""
    found = set(_cell_ids(row.values.get("numa_typology")))
    return len(found) or None


def _cell_ids(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from _cell_ids(value.get("cell_id"))
    elif isinstance(value, list):
        for one in value:
            yield from _cell_ids(one)
    elif value is not None and value != "":
        yield str(value)


def read_hotspot(opened: Opened) -> Read:
    """The host that the file is named after, and its VMs with CPU use in cores."""
    host = f"hotspot/{_stem(opened)}"

    def take(made: Made, row: Row, line: int) -> None:
        start = _start_ms(row)
        used, cores = row.numbers("vm_util"), row.number("host_vcpus")
        vm = f"{host}/{line}"
        if made.node(host, line, start):
            made.capacity(host, line, start, "cpu", cores)
        made.add("container", line, time_ms=start, container=vm, node=host, position=line - 1)
        made.samples(vm, line, start + np.arange(len(used)) * _POINT_MS, "cpu", used)

    yield from _each(opened, "container", take)


def _start_ms(row: Row) -> int:
    """When the recording begins: seconds, or ms since 1970, or a date with a time of the day."""
    value = row.values.get("time_start")
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return int(value if value >= SECONDS_UP_TO else value * 1000)
    try:
        found = dt.datetime.fromisoformat(str(value).replace("/", "-"))
    except ValueError:
        expected = "a date with a time of the day, or seconds"
        raise WrongError("time_start", f"is '{str(value)[:60]}', expected {expected}") from None
    aware = found if found.tzinfo else found.replace(tzinfo=dt.UTC)
    return round(aware.timestamp() * 1000)


def read_online(opened: Opened) -> Read:
    """VMs in the order they arrive, with life, memory, and CPU use in cores."""
    instance = f"online/{_stem(opened)}"

    def take(made: Made, row: Row, line: int) -> None:
        start, points = row.number("Created_at_point"), row.number("duration_point")
        used, memory = row.numbers("vm_util", int(points)), row.number("memory") * _GB
        vm, begin = f"{instance}/{line}", round(start * _POINT_MS)
        made.add(
            "container", line, time_ms=begin, container=vm, position=line - 1,
            departure_ms=round((start + points) * _POINT_MS),
        )  # fmt: skip
        made.request(vm, line, begin, "memory", memory)
        made.samples(vm, line, begin + np.arange(len(used)) * _POINT_MS, "cpu", used)

    yield from _each(opened, "container", take)


def read_offline(opened: Opened) -> Read:
    """Hosts with cores and memory, and the VMs on them with the share of their vCPUs in use."""
    instance = f"offline/{_stem(opened)}"

    def take(made: Made, row: Row, line: int) -> None:
        host = f"{instance}/{row.text('pm_id')}"
        sizes = row.number("vcpus"), row.number("memory") * _GB
        vms = list(row.named_numbers("cpu_usage"))
        if made.node(host, line):
            made.capacity(host, line, 0, "cpu", sizes[0])
            made.capacity(host, line, 0, "memory", sizes[1])
        for name, used in vms:
            vm = f"{instance}/{line}" + (f"/{name}" if name else "")
            made.add("container", line, time_ms=0, container=vm, node=host, position=made.count)
            times = np.arange(len(used)) * _POINT_MS
            made.samples(vm, line, times, "cpu_of_vm", used / 100)

    yield from _each(opened, "container", take)


SOURCE = ClusterSource(
    name="huawei_vm22",
    title="Huawei VM scheduling 2022: CPU use, steal time and NUMA cells of VMs on their hosts",
    url="https://github.com/huaweicloud/HUAWEICloudPublicDataset",
    missing_names=frozenset({""}),
    licence="CC-BY-4.0",
    files=(
        ClusterFile(
            word="qos",
            title="VMs with CPU use and steal time (qos_modeling)",
            tables=("container", "container_resource", "container_amount", "node"),
            recognises=is_qos,
            read=read_qos,
        ),
        ClusterFile(
            word="hotspot",
            title="VMs of one host with CPU use over a day (hotspot_resolution)",
            tables=("container", "container_amount", "node", "node_resource"),
            recognises=is_hotspot,
            read=read_hotspot,
        ),
        ClusterFile(
            word="online",
            title="VMs that arrive, with memory and CPU use (vm_online_scheduling)",
            tables=("container", "container_resource", "container_amount"),
            recognises=is_online,
            read=read_online,
            alone=True,
        ),
        ClusterFile(
            word="offline",
            title="hosts with the CPU use of their VMs (vm_offline_scheduling)",
            tables=("node", "node_resource", "container", "container_amount"),
            recognises=is_offline,
            read=read_offline,
            alone=True,
        ),
    ),
    lacks=(
        "memory use, disks, network",
        "sizes of hosts in qos_modeling; hosts in vm_online_scheduling",
        "vCPUs of VMs in all but qos_modeling",
        "memory of VMs in all but vm_online_scheduling",
        "departures, but in vm_online_scheduling",
        "which NUMA cells a VM is on, and which vCPUs it is bound to: only the number of its cells",
    ),
    inferred=(
        "points of time are 300 s apart, from 0 on",
        "priority 1 is a dedicated VM (F1), 0 a shared one (F2)",
        "a GB is 2^30 bytes",
        "ids of VMs and of hosts that have none are made of the file's name and the line",
    ),
    notes=(
        "steal_time is the share of time that a VM was ready and had to wait: 0.1 is 10 %",
        "cpu_of_vm is a share of a VM's own vCPUs, of which vm_offline_scheduling does not say",
        "the four sets, and the files of the last two, are problems of their own: one per store",
        "written after upstream's description: the files lie in Git LFS",
    ),
)
