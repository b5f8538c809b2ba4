"""Alibaba spot GPU trace of 2026: 4,278 GPU nodes, high-priority and spot jobs.

Facts: alibaba/clusterdata, cluster-trace-v2026-spot-gpu, README.md (which lists the columns in
another order than the files have them), and the node table itself.
"""

from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind

SOURCE = Released(
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
