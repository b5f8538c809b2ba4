"""Alibaba's traces of GPU clusters of 2023, 2025 and 2026: nodes and requests, without use.

Facts: alibaba/clusterdata. openb: cluster-trace-gpu-v2023 (``openb_node_list_*``,
``openb_pod_list_*``). dlrm25: cluster-trace-gpu-v2025, README.md and the first rows of the file.
spotgpu26: cluster-trace-v2026-spot-gpu, README.md (which lists the columns in another order than
the files have them), and the node table itself.
"""

from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind

OPENB = Released(
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


DLRM25 = Released(
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


SPOTGPU26 = Released(
    name="spotgpu26",
    title="Alibaba spot GPU trace 2026: 4,278 GPU nodes, high-priority and spot jobs",
    url="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-v2026-spot-gpu",
    missing_names=frozenset({"", "nan"}),
    lacks=("memory", "use", "the node where a job ran", "network", "racks and zones", "prices"),
    inferred=(
        "cpu_request and gpu_request are of each worker: 94 workers share no single GPU",
        "a high-priority job has priority 1, a spot job 0",
        "a job departs its duration after it was submitted: waiting is not told apart",
    ),
    notes=(
        "no gang is stated, though a job names how many workers it has",
        "times are seconds since the first job",
    ),
    kinds=(
        Kind(
            word="nodes",
            title="nodes: cores, GPUs and their model",
            columns="node_name gpu_model gpu_capacity_num:number cpu_num:number",
            header="names",
            empty=("", "nan"),
        ),
        Kind(
            word="jobs",
            title="jobs: workers, requests, submission, duration",
            columns="job_name gpu_model cpu_request:number+ gpu_request:number+ worker_num:number!"
            " submit_time:seconds duration:seconds+ job_type",
            header="names",
            empty=("", "nan"),
            rules=(
                "worker_num: worker_num < 1 OR worker_num % 1 <> 0 -> 1 or more, whole",
                "job_type: job_type NOT IN ('HP', 'Spot') -> HP or Spot",
            ),
        ),
    ),
)
