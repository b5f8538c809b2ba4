"""Logs of the Parallel Workloads Archive (SWF), and of the Grid Workloads Archive (Bitbrains).

Facts: Chapin et al., "Benchmarks and Standards for the Evaluation of Parallel Job Schedulers",
JSSPP 1999; the Parallel Workloads Archive keeps the logs. Shen, van Beek, Iosup, "Statistical
Characterization of Business-Critical Workloads Hosted in Cloud Datacenters", CCGrid 2015; the
archive's page names the columns.
"""

import re

from tracekit.intake.sources import Head
from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?")


def _is_log(head: Head) -> bool:
    """Whether a file is a ``.swf`` whose first lines are comments, then rows of 18 numbers."""
    if not head.name.endswith(".swf"):
        return False
    lines = [line.split() for line in head.lines if line.strip()]
    first = next((line for line in lines if not line[0].startswith(";")), None)
    if first is None:
        return bool(lines)
    return len(first) == 18 and all(_NUMBER.fullmatch(field) for field in first)


SWF = Released(
    name="swf",
    title="Job logs of parallel computers in the Standard Workload Format (SWF)",
    url="https://www.cs.huji.ac.il/labs/parallel/workload/",
    missing_names=frozenset({"", "-1"}),
    licence="Parallel Workloads Archive: free, acknowledge who gave the log, named in its header",
    lacks=("use over time: one mean a job", "placement", "network and disk", "memory of nodes"),
    inferred=(
        "a job is one container; its cores are the larger of requested and allocated processors",
        "departure: submission + run time, which is at least 1 s; what it waited is left out",
        "nodes: MaxNodes of MaxProcs / MaxNodes cores; one pool of MaxProcs if a job fits none",
    ),
    notes=(
        "times are since the log's start; UnixStartTime stays among the labels of the nodes",
        "memory is stated for a processor; KB is taken as 1,024 bytes",
        "sizes of partitions are not in the format",
    ),
    kinds=(
        Kind(
            word="log",
            title="jobs of one parallel computer",
            columns="job:number! submit_s:number!+ wait_s:number run_s:number"
            " allocated_processors:number mean_cpu_s:number used_memory_kb:kib"
            " requested_processors:number requested_s:number requested_memory_kb:kib"
            " status:number user:number group:number executable:number queue:number"
            " partition:number preceding_job:number think_s:number",
            separator=" ",
            comment=";",
            empty=("", "-1", "-1.0", "-1.00"),
            recognises=_is_log,
            rules=(
                (
                    "requested_processors: coalesce(greatest(requested_processors,"
                    " allocated_processors), 0) < 1"
                    " -> 1 or more, requested or allocated"
                ),
            ),
            whole=True,
            tables=(
                "container",
                "node",
                "node_resource",
                "container_resource",
                "container_amount",
            ),
        ),
    ),
)


HEADER = (
    "Timestamp [ms];CPU cores;CPU capacity provisioned [MHZ];CPU usage [MHZ];CPU usage [%];"
    "Memory capacity provisioned [KB];Memory usage [KB];Disk read throughput [KB/s];"
    "Disk write throughput [KB/s];Network received throughput [KB/s];"
    "Network transmitted throughput [KB/s]"
)

BITBRAINS = Released(
    name="bitbrains",
    title="Bitbrains GWA-T-12: 1,750 virtual machines with CPU, memory, disk and network use",
    url="https://atlarge-research.com/gwa-t-12/",
    licence="Grid Workloads Archive: free for research, cite the paper",
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
    kinds=(
        Kind(
            word="vm",
            title="one virtual machine's provisions and use",
            columns="time:number! cores:number! provisioned_mhz:number! used_mhz:number+ -"
            " provisioned_kb:kib used_kb:kib+ read_kb:kib write_kb:kib received_kb:kib sent_kb:kib",
            separator=";",
            header=HEADER,
            rules=(
                "used_mhz: provisioned_mhz <= 0 AND used_mhz > 0 -> 0, as no CPU is provisioned",
                # samples are means, and a clock may be above its nominal rate
                (
                    "used_mhz: provisioned_mhz > 0 AND used_mhz > 4 * provisioned_mhz"
                    " -> at most 4 times what is provisioned"
                ),
                (
                    "used_kb: provisioned_kb > 0 AND used_kb > 4 * provisioned_kb"
                    " -> at most 4 times what is provisioned"
                ),
            ),
            whole=True,
        ),
    ),
)
