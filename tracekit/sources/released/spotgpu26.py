"""Alibaba spot GPU trace of 2026: 4,278 GPU nodes, high-priority and spot jobs.

Facts: alibaba/clusterdata, cluster-trace-v2026-spot-gpu, README.md (which lists the columns in
another order than the files have them), and the node table itself.
"""

import polars as pl

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources._cluster import Batch, Opened, Read
from tracekit.sources._rows import Rule, amounts, long, refuse, seconds
from tracekit.sources.released._lines import (
    GPU_MODEL,
    each_of,
    headed,
    ms,
    named,
    of_model,
    one_of,
    standing,
)

_PRIORITIES = {"HP": 1, "Spot": 0}
_RULES = (
    *amounts("cpu_request", "gpu_request"),
    *seconds("submit_time", "duration"),
    Rule(
        column="worker_num",
        broken=(pl.col("worker_num") < 1) | (pl.col("worker_num") % 1 != 0),
        expected="a whole number of 1 or more",
    ),
    Rule(
        column="worker_num",
        broken=pl.col("worker_num").is_null(),
        expected="a whole number of 1 or more",
    ),
    Rule(column="duration", broken=pl.col("duration") < 0, expected="0 or more"),
    Rule(
        column="job_type",
        broken=~pl.col("job_type").is_in(list(_PRIORITIES)),
        expected="HP or Spot",
    ),
)


def read_nodes(opened: Opened) -> Read:
    """Nodes, all there from the beginning."""
    texts, numbers = ["node_name", "gpu_model"], ["gpu_capacity_num", "cpu_num"]
    for raw, broken in named(opened, texts, numbers, "node"):
        yield from broken
        sizes = {
            "cpu_num": ("cpu", "cores", 1.0),
            "gpu_capacity_num": ("gpu", "count", 1.0),
        }
        nodes = raw.with_columns(node=pl.col("node_name"))
        yield from standing(nodes, sizes, *of_model(GPU_MODEL, raw["gpu_model"]))


def read_jobs(opened: Opened) -> Read:
    """Containers: the workers of each job."""
    texts = ["job_name", "gpu_model", "job_type"]
    numbers = ["cpu_request", "gpu_request", "worker_num", "submit_time", "duration"]
    for raw, broken in named(opened, texts, numbers, "container"):
        yield from broken
        jobs, wrong = refuse(raw, _RULES, "container")
        yield from wrong
        jobs = jobs.with_columns(
            ms("submit_time").alias("time_ms"),
            ms(pl.col("submit_time") + pl.col("duration")).alias("departure_ms"),
            pl.col("job_type").replace_strict(_PRIORITIES, default=None).alias("priority"),
            one_of(GPU_MODEL, jobs["gpu_model"]).alias("selector"),
        )
        for part in each_of(jobs, "worker_num"):
            workers = part.with_columns(pl.format("{}/{}", "job_name", "number").alias("container"))
            yield Batch(
                table="container",
                rows=workers.select(
                    "time_ms",
                    "container",
                    pl.col("job_name").alias("service"),
                    pl.col("line").alias("position"),
                    "departure_ms",
                    "priority",
                    "selector",
                    "line",
                ),
            )
            asked = {
                "cpu_request": ("cpu", "cores", 1.0),
                "gpu_request": ("gpu", "count", 1.0),
            }
            rows = long(workers, ["time_ms", "container"], asked)
            yield Batch(table="container_resource", rows=rows.rename({"amount": "request"}))


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
