"""Virtual machines of business-critical workloads in a Bitbrains data centre, GWA-T-12.

Facts: Shen, van Beek, Iosup, "Statistical Characterization of Business-Critical Workloads Hosted in
Cloud Datacenters", CCGrid 2015; the archive's page names the columns.
"""

from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind

HEADER = (
    "Timestamp [ms];CPU cores;CPU capacity provisioned [MHZ];CPU usage [MHZ];CPU usage [%];"
    "Memory capacity provisioned [KB];Memory usage [KB];Disk read throughput [KB/s];"
    "Disk write throughput [KB/s];Network received throughput [KB/s];"
    "Network transmitted throughput [KB/s]"
)

SOURCE = Released(
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
