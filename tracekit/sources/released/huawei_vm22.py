"""Virtual machines of Huawei Cloud in 2022: CPU use, steal time, NUMA cells; four sets of files.

Facts: huaweicloud/HUAWEICloudPublicDataset, HuaweiCloudVMSchedulingDataset/README.md.
"""

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources.released import _huawei_vm22_readers as readers

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
            recognises=readers.is_qos,
            read=readers.read_qos,
        ),
        ClusterFile(
            word="hotspot",
            title="VMs of one host with CPU use over a day (hotspot_resolution)",
            tables=("container", "container_amount", "node", "node_resource"),
            recognises=readers.is_hotspot,
            read=readers.read_hotspot,
        ),
        ClusterFile(
            word="online",
            title="VMs that arrive, with memory and CPU use (vm_online_scheduling)",
            tables=("container", "container_resource", "container_amount"),
            recognises=readers.is_online,
            read=readers.read_online,
            alone=True,
        ),
        ClusterFile(
            word="offline",
            title="hosts with the CPU use of their VMs (vm_offline_scheduling)",
            tables=("node", "node_resource", "container", "container_amount"),
            recognises=readers.is_offline,
            read=readers.read_offline,
            alone=True,
        ),
    ),
    lacks=(
        "memory use, disks, network",
        "sizes of hosts in qos_modeling; hosts in vm_online_scheduling",
        "vCPUs of VMs in all but qos_modeling",
        "memory of VMs in all but vm_online_scheduling",
        "departures, but in vm_online_scheduling",
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
