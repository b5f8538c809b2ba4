"""Virtual machines of business-critical workloads in a Bitbrains data centre, GWA-T-12.

Facts: Shen, van Beek, Iosup, "Statistical Characterization of Business-Critical Workloads Hosted in
Cloud Datacenters", CCGrid 2015; the archive's page names the columns.
"""

from tracekit.sources._cluster import ClusterFile, ClusterSource, Head
from tracekit.sources.released._bitbrains_readers import HEADER, read_vm


def _is_vm(head: Head) -> bool:
    return tuple(head.fields(";")) == HEADER


SOURCE = ClusterSource(
    name="bitbrains",
    title="Bitbrains GWA-T-12: 1,750 virtual machines with CPU, memory, disk and network use",
    url="https://atlarge-research.com/gwa-t-12/",
    missing_names=frozenset({""}),
    licence="Grid Workloads Archive: free for research, cite the paper",
    files=(
        ClusterFile(
            word="vm",
            title="one virtual machine's provisions and use",
            tables=("container", "container_resource", "container_amount"),
            recognises=_is_vm,
            read=read_vm,
        ),
    ),
    lacks=("nodes", "placement", "services", "limits"),
    inferred=(
        "cores in use: MHz in use / MHz provisioned x cores provisioned",
        "arrival and departure of a machine: its first sample, and 300 s after its last",
    ),
    notes=(
        "times are seconds since 1970, though the header says ms; above 1e11 they are taken as ms",
        "KB is taken as 1,024 bytes: provisioned memory then comes in whole GiB",
        "a machine is named by its file, so that each month of rnd belongs in a store of its own",
    ),
)
