"""Kubernetes nodes and pods of an Alibaba GPU cluster, with requests and life times.

Facts: alibaba/clusterdata, cluster-trace-gpu-v2023 (``openb_node_list_*``, ``openb_pod_list_*``).
"""

from tracekit.sources import Source, WorkloadFile

SOURCE = Source(
    name="openb",
    title="Alibaba GPU cluster trace 2023: 8,152 pods for 1,523 nodes, with life times (workload)",
    url="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2023",
    missing_names=frozenset({""}),
    notes=(
        "a placement problem: no usage table, read by tracekit replay --workload openb:PATH",
        "the node names of the GPU list mostly denote other nodes than those of the whole list",
    ),
    workload_files=(
        WorkloadFile(title="nodes", first_line="sn,cpu_milli,memory_mib,gpu,model"),
        WorkloadFile(title="pods", first_line="name,cpu_milli,memory_mib,num_gpu,gpu_milli,"),
    ),
)
