"""Alibaba trace of 2025 of disaggregated recommendation models: instances with requests and limits.

Facts: alibaba/clusterdata, cluster-trace-gpu-v2025, README.md and the first rows of the file.
"""

import polars as pl

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources._cluster import Batch, Opened, Read
from tracekit.sources._rows import Rule, amounts, refuse, seconds
from tracekit.sources.released._lines import headed, ms, named
from tracekit.units import BYTES_PER_GIB

_GIB = float(BYTES_PER_GIB)
#: For each resource: what it is called, its unit, and the factor that leads to it.
_RESOURCES = {
    "cpu": ("cpu", "cores", 1.0),
    "memory": ("memory", "bytes", _GIB),
    "gpu": ("gpu", "count", 1.0),
    "disk": ("disk", "bytes", _GIB),
    # of a network card 100 parts can be had: whole numbers, as a replay counts them
    "rdma": ("rdma", "count", 1.0),
}
_NO_LIMIT = -1
_RULES = (
    Rule(
        column="max_instance_per_node",
        broken=(pl.col("max_instance_per_node") < 1)
        & (pl.col("max_instance_per_node") != _NO_LIMIT),
        expected="1 or more, or -1 for no limit",
    ),
    Rule(
        column="deletion_time",
        broken=pl.col("deletion_time") < pl.col("creation_time").fill_null(0),
        expected="no time before creation_time",
    ),
)


def read_instances(opened: Opened) -> Read:
    """Containers with requests, limits, and how many of an application a node may hold."""
    asked = [f"{name}_{kind}" for name in _RESOURCES for kind in ("request", "limit")]
    numbers = [*asked, "max_instance_per_node", "creation_time", "deletion_time"]
    for raw, broken in named(opened, ["instance_sn", "app_name"], numbers, "container"):
        yield from broken
        kept, wrong = refuse(raw, [*_RULES, *amounts(*asked), *seconds(*numbers[-2:])], "container")
        yield from wrong
        most = pl.col("max_instance_per_node")
        limited = most != _NO_LIMIT
        rows = kept.with_columns(
            ms(pl.col("creation_time").fill_null(0)).alias("time_ms"),
            pl.col("instance_sn").alias("container"),
            pl.when(limited).then(most.cast(pl.Int64)).alias("most"),
        )
        yield Batch(
            table="container",
            rows=rows.select(
                "time_ms",
                "container",
                pl.col("app_name").alias("service"),
                pl.col("line").alias("position"),
                ms("deletion_time").alias("departure_ms"),
                pl.format("{}/{}", "app_name", "most").alias("apart"),
                pl.when(pl.col("most").is_not_null()).then(pl.lit("node")).alias("apart_domain"),
                pl.col("most").alias("apart_most"),
                "line",
            ),
        )
        yield Batch(table="container_resource", rows=_requests(rows))


def _requests(rows: pl.DataFrame) -> pl.DataFrame:
    """Requests and limits of what is asked for at all."""
    parts = [
        rows.filter((pl.col(f"{column}_request") != 0) | (pl.col(f"{column}_limit") != 0)).select(
            "time_ms",
            "container",
            pl.lit(resource).alias("resource"),
            (pl.col(f"{column}_request") * factor).alias("request"),
            (pl.col(f"{column}_limit") * factor).alias("limit"),
            pl.lit(unit).alias("unit"),
            "line",
        )
        for column, (resource, unit, factor) in _RESOURCES.items()
    ]
    return pl.concat(parts).sort("line", maintain_order=True)


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
