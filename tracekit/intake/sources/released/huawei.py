"""Huawei Cloud's traces of virtual machines.

Facts: huaweicloud/VM-placement-dataset, Huawei-East-1 (README);
mdl1104/Dataset-for-topology-aware-VM-placement (README, PM_res, VM_data_C1..5, topology_provider);
huaweicloud/HUAWEICloudPublicDataset, HuaweiCloudVMSchedulingDataset/README.md.
"""

import dataclasses
import io
import re
from functools import partial
from pathlib import PurePath

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind, json_lines
from tracekit.intake.sources._source import Head, Opened

HUAWEI_EAST1 = Released(
    name="huawei_east1",
    title="Huawei-East-1: 125,430 VMs created and 116,313 deleted in 30 days",
    url="https://github.com/huaweicloud/VM-placement-dataset",
    licence="CC-BY-NC: fetch it yourself, no commercial use",
    lacks=(
        "machines and their sizes",
        "usage",
        "placement",
        "services and tenants",
        "which of the small VMs share cores",
    ),
    inferred=("a GB is 2^30 bytes", "a VM that is never deleted stays"),
    notes=(
        "requests are cores as sold; many small VMs share cores, so machines hold more of them",
        "a sharing VM takes 1/4 to 1/2 of its cores, says upstream; VMAgent reckons with 1/3",
        "60 to 90 % of the VMs of a small flavour share cores, says upstream",
    ),
    kinds=(
        Kind(
            word="events",
            title="creations and deletions of VMs",
            columns="vmid! cpu:number memory:number time:seconds!+ type:number!",
            header="exactly",
            rules=(
                "type: type NOT IN (0, 1) -> 0 (creation) or 1 (deletion)",
                "cpu: type = 0 AND NOT coalesce(cpu > 0, false) -> a size above 0",
                "memory: type = 0 AND NOT coalesce(memory > 0, false) -> a size above 0",
            ),
            whole=True,
        ),
    ),
)


#: How the two kinds of workbooks begin: a zip, and an old compound file.
_XLSX, _XLS = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"


def _is_workbook(head: Head) -> bool:
    """Whether a file has the name and the first bytes of a workbook, .xlsx or .xls."""
    name = head.name.lower()
    return (name.endswith(".xlsx") and head.start.startswith(_XLSX)) or (
        name.endswith(".xls") and head.start.startswith(_XLS)
    )


def _as_csv(opened: Opened) -> Opened:
    """The first sheet of a workbook as comma-separated text; any other file unchanged.

    Cells are read as texts, so that numbers stored as text become numbers too.

    Raises
    ------
    TracekitError
        When no library for workbooks is installed, or the file is damaged.
    """
    with opened.stream() as stream:
        start = stream.read(len(_XLSX))
        if start not in {_XLSX, _XLS}:
            return opened
        data = start + stream.read()
    text = _sheet(data, opened.name).write_csv().encode()
    return dataclasses.replace(opened, stream=lambda: io.BytesIO(text))


def _sheet(data: bytes, name: str) -> pl.DataFrame:
    try:
        return pl.read_excel(io.BytesIO(data), engine="calamine", infer_schema_length=0)
    except ImportError as error:
        raise TracekitError(
            f"{name}: a workbook, and no library that reads workbooks is installed",
            hint="pip install 'tracekit[excel]', or save the sheet as CSV and ingest that",
        ) from error
    except Exception as error:  # the engine's errors have no common class
        raise TracekitError(
            f"{name}: a workbook that cannot be read: {str(error).splitlines()[0][:200]}",
            hint="fetch the file again, or save the sheet as CSV and ingest that",
        ) from error


_NOTHING = ("", "nan", "NaN")
_REQUESTS = ["flavor_vcpus", "flavor_ram", "numa", "strategy", "group", "domain"]


def _is(columns: list[str], stem: str, head: Head) -> bool:
    """Whether a file is of this kind: a workbook by its name, other files by their columns."""
    if _is_workbook(head):
        return re.fullmatch(stem, PurePath(head.name).stem.lower()) is not None
    return head.fields() == columns


HUAWEI_TOPOLOGY25 = Released(
    name="huawei_topology25",
    title="Huawei topology-aware 2025: five lists of 4,998 VMs for 1,710 servers with NUMA cells",
    url="https://github.com/mdl1104/Dataset-for-topology-aware-VM-placement",
    missing_names=frozenset({"", "nan"}),
    licence="CC0-1.0 (upstream asks to be cited)",
    lacks=(
        "times: the requests have an order of arrival only; all arrive at 0",
        "departures",
        "usage",
        "placement",
        "racks of the 1,710 servers: topology_provider names other hosts",
        "sizes of the 17,387 hosts of topology_provider",
    ),
    inferred=(
        "a GB is 2^30 bytes",
        "numa 1: the whole VM on one cell; numa 2: half of it on each of two cells",
        "anti-affinity: members of a group share no server",
        "affinity: no rule, since many groups fit no server and no server's rack is known",
        "fault_domain: members of a group with different domains share no server",
        "server-0000 is the first row of PM_res; c1/0000 the first row of VM_data_C1",
    ),
    notes=(
        "capacity is what was free, not the size of the servers",
        "VM_data_C1 to C5 are five problems: ingest one of them per store; ids begin with c1/, c2/",
        "the service of a VM says of which group it is: c1/affinity/3",
    ),
    kinds=(
        Kind(
            word="servers",
            title="free cores and GB of the two NUMA cells of each server",
            columns="CPU1:number! RAM1:gib! CPU2:number! RAM2:gib!",
            header="names",
            form=_as_csv,
            recognises=partial(_is, ["CPU1", "RAM1", "CPU2", "RAM2"], "pm_res"),
        ),
        Kind(
            word="requests",
            title="VM requests in order of arrival",
            columns="flavor_vcpus:number! flavor_ram:gib! numa:number! strategy group:number"
            " domain:number",
            header="names",
            form=_as_csv,
            recognises=partial(_is, _REQUESTS, r"vm_data_c\d+"),
            empty=_NOTHING,
            rules=(
                "numa: numa NOT IN (1, 2) -> 1 or 2",
                (
                    "strategy: strategy NOT IN ('affinity', 'anti-affinity', 'fault_domain')"
                    " -> affinity or anti-affinity or fault_domain or none"
                ),
                """group: strategy IS NOT NULL AND "group" IS NULL -> the number of the group""",
                (
                    "domain: strategy = 'fault_domain' AND domain IS NULL"
                    " -> the number of the fault domain"
                ),
            ),
            whole=True,
            alone=True,
        ),
        Kind(
            word="topology",
            title="racks of 17,387 other hosts, left out beside the servers",
            columns="host_id! rack_id:number!",
            header="names",
            form=_as_csv,
            recognises=partial(_is, ["host_id", "rack_id"], "topology_provider"),
            empty=_NOTHING,
            beside=("servers",),
        ),
    ),
)


def _has(head: Head, *keys: str) -> bool:
    """Whether the first bytes of a file of JSON lines have these keys; a line may be longer."""
    wanted = (re.compile(rf'"{key}"\s*:'.encode()) for key in keys)
    return head.start.lstrip()[:1] == b"{" and all(one.search(head.start) for one in wanted)


HUAWEI_VM22 = Released(
    name="huawei_vm22",
    title="Huawei VM scheduling 2022: CPU use, steal time and NUMA cells of VMs on their hosts",
    url="https://github.com/huaweicloud/HUAWEICloudPublicDataset",
    licence="CC-BY-4.0",
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
    kinds=(
        Kind(
            word="qos",
            title="VMs with CPU use and steal time (qos_modeling)",
            columns="instance_id! pod_host! vcpus:number!+ times:numbers cpu_util:numbers"
            " steal_time:numbers flavor_group! numa_typology",
            rows=json_lines,
            recognises=lambda head: _has(head, "instance_id", "pod_host", "steal_time"),
            rules=(
                "cpu_util: len(cpu_util) <> len(times) -> as many values as times",
                "steal_time: len(steal_time) <> len(times) -> as many values as times",
                "flavor_group: flavor_group NOT IN ('F1', 'F2') -> F1 or F2",
            ),
            whole=True,
            tables=("container", "container_resource", "container_amount", "node"),
        ),
        Kind(
            word="hotspot",
            title="VMs of one host with CPU use over a day (hotspot_resolution)",
            columns="time_start! vm_util:numbers host_vcpus:number!+",
            rows=json_lines,
            recognises=lambda head: _has(head, "host_vcpus", "vm_util"),
            rules=(
                (
                    "time_start: point_ms(time_start) IS NULL"
                    " -> a date with a time of the day, or seconds"
                ),
            ),
            whole=True,
            tables=("container", "container_amount", "node", "node_resource"),
        ),
        Kind(
            word="online",
            title="VMs that arrive, with memory and CPU use (vm_online_scheduling)",
            columns="Created_at_point:number!+ duration_point:number!+ vm_util:numbers"
            " memory:gib!+",
            rows=json_lines,
            recognises=lambda head: _has(head, "Created_at_point", "duration_point"),
            rules=(
                (
                    "vm_util: len(vm_util) <> trunc(duration_point)"
                    " -> as many values as duration_point says"
                ),
            ),
            alone=True,
        ),
        Kind(
            word="offline",
            title="hosts with the CPU use of their VMs (vm_offline_scheduling)",
            columns="pm_id! vcpus:number!+ memory:gib!+ cpu_usage!",
            rows=json_lines,
            recognises=lambda head: _has(head, "pm_id", "cpu_usage"),
            rules=(
                (
                    "cpu_usage: NOT coalesce(all_numbers(lists_of(cpu_usage)), false)"
                    " -> a list of numbers, or lists of some VMs"
                ),
            ),
            whole=True,
            alone=True,
            tables=("container", "node", "node_resource", "container_amount"),
        ),
    ),
)
