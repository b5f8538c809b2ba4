"""Alibaba trace of 2025 of disaggregated recommendation models: instances with requests and limits.

Facts: alibaba/clusterdata, cluster-trace-gpu-v2025, README.md and the first rows of the file.
"""

from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind

SOURCE = Released(
    name="dlrm25",
    title="Alibaba DLRM trace 2025: 23,871 inference instances of 156 applications with GPUs, RDMA",
    url="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2025",
    missing_names=frozenset({"", "nan", "NaN"}),
    lacks=("nodes", "use", "the node where an instance ran", "racks and zones", "prices"),
    inferred=(
        "an instance without creation_time was there before the trace and arrives at 0",
        "an instance without deletion_time stays",
        "instances of one application that state one max_instance_per_node are held to it together",
    ),
    notes=(
        "rdma counts hundredths of a network card",
        "an application's instances on CPU nodes and on GPU nodes may state different limits",
        "requests and limits of 0 are none",
        "role (CN, HN) is not kept: no node says which it is",
    ),
    kinds=(
        Kind(
            word="instances",
            title="instances: requests, limits, lives, how many a node may hold",
            columns="instance_sn app_name cpu_request:number+ cpu_limit:number+"
            " memory_request:gib+ memory_limit:gib+ gpu_request:number+ gpu_limit:number+"
            " disk_request:gib+ disk_limit:gib+ rdma_request:number+ rdma_limit:number+"
            " max_instance_per_node:number creation_time:seconds deletion_time:seconds",
            header="names",
            empty=("", "nan"),
            rules=(
                (
                    "max_instance_per_node: max_instance_per_node < 1"
                    " AND max_instance_per_node <> -1 -> 1 or more, or -1 for no limit"
                ),
                (
                    "deletion_time: deletion_time < coalesce(creation_time, 0)"
                    " -> no time before creation_time"
                ),
            ),
        ),
    ),
)
