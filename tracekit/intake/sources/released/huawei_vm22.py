"""Virtual machines of Huawei Cloud in 2022: CPU use, steal time, NUMA cells; four sets of files.

Facts: huaweicloud/HUAWEICloudPublicDataset, HuaweiCloudVMSchedulingDataset/README.md.
"""

import re

from tracekit.intake.sources import Head
from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind, json_lines


def _has(head: Head, *keys: str) -> bool:
    """Whether the first bytes of a file of JSON lines have these keys; a line may be longer."""
    wanted = (re.compile(rf'"{key}"\s*:'.encode()) for key in keys)
    return head.start.lstrip()[:1] == b"{" and all(one.search(head.start) for one in wanted)


SOURCE = Released(
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
