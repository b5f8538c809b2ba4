"""Alibaba spot GPU trace of 2026: 4,278 GPU nodes, high-priority and spot jobs.

Facts: alibaba/clusterdata, cluster-trace-v2026-spot-gpu, README.md (which lists the columns in
another order than the files have them), and the node table itself.
"""

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources.released._lines import headed
from tracekit.sources.released._spotgpu26_readers import read_jobs, read_nodes

SOURCE = ClusterSource(
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
    files=(
        ClusterFile(
            word="nodes",
            title="nodes: cores, GPUs and their model",
            tables=("node", "node_resource"),
            recognises=headed("node_name", "gpu_model", "gpu_capacity_num", "cpu_num"),
            read=read_nodes,
        ),
        ClusterFile(
            word="jobs",
            title="jobs: workers, requests, submission, duration",
            tables=("container", "container_resource"),
            recognises=headed(
                "job_name",
                "gpu_model",
                "cpu_request",
                "gpu_request",
                "worker_num",
                "submit_time",
                "duration",
                "job_type",
            ),
            read=read_jobs,
        ),
    ),
)
