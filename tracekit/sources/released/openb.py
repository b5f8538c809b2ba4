"""Kubernetes nodes and pods of an Alibaba GPU cluster, with requests and life times.

Facts: alibaba/clusterdata, cluster-trace-gpu-v2023 (``openb_node_list_*``, ``openb_pod_list_*``).
"""

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources.released._lines import headed
from tracekit.sources.released._openb_readers import read_nodes, read_pods

SOURCE = ClusterSource(
    name="openb",
    title="Alibaba GPU cluster trace 2023: 8,152 pods for 1,523 nodes, with life times",
    url="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2023",
    missing_names=frozenset({"", "nan"}),
    lacks=("use", "the node where a pod ran", "services", "racks and zones", "prices"),
    inferred=(
        "a pod asks for num_gpu times gpu_milli / 1000 GPUs of a node; which ones is not known",
    ),
    notes=(
        "no pod belongs to a gang, and there is no use: requests alone are the workload",
        "the node names of the GPU list mostly denote other nodes than those of the whole list",
        "pods that never ran (pod_phase Pending) are containers like the others",
    ),
    files=(
        ClusterFile(
            word="nodes",
            title="nodes: cores, memory, GPUs and their model",
            tables=("node", "node_resource"),
            recognises=headed("sn", "cpu_milli", "memory_mib", "gpu", "model"),
            read=read_nodes,
            alone=True,
        ),
        ClusterFile(
            word="pods",
            title="pods: requests, creation, deletion",
            tables=("container", "container_resource"),
            recognises=headed(
                "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time"
            ),
            read=read_pods,
            alone=True,
        ),
    ),
)
