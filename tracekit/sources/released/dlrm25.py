"""Alibaba trace of 2025 of disaggregated recommendation models: instances with requests and limits.

Facts: alibaba/clusterdata, cluster-trace-gpu-v2025, README.md and the first rows of the file.
"""

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources.released._dlrm25_readers import read_instances
from tracekit.sources.released._lines import headed

SOURCE = ClusterSource(
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
    files=(
        ClusterFile(
            word="instances",
            title="instances: requests, limits, lives, how many a node may hold",
            tables=("container", "container_resource"),
            recognises=headed(
                "instance_sn",
                "app_name",
                "cpu_request",
                "rdma_request",
                "max_instance_per_node",
                "creation_time",
                "deletion_time",
            ),
            read=read_instances,
        ),
    ),
)
