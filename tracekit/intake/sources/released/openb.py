"""Kubernetes nodes and pods of an Alibaba GPU cluster, with requests and life times.

Facts: alibaba/clusterdata, cluster-trace-gpu-v2023 (``openb_node_list_*``, ``openb_pod_list_*``).
"""

from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind

SOURCE = Released(
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
    kinds=(
        Kind(
            word="nodes",
            title="nodes: cores, memory, GPUs and their model",
            columns="sn model cpu_milli:thousandths memory_mib:mib gpu:number",
            header="names",
            empty=("", "nan"),
            alone=True,
        ),
        Kind(
            word="pods",
            title="pods: requests, creation, deletion",
            columns="name gpu_spec cpu_milli:thousandths+ memory_mib:mib+ num_gpu:number+"
            " gpu_milli:number+ creation_time:seconds deletion_time:seconds",
            header="names",
            empty=("", "nan"),
            rules=("deletion_time: deletion_time < creation_time -> no time before creation_time",),
            whole=True,
            alone=True,
        ),
    ),
)
