"""Kubernetes nodes and pods of an Alibaba GPU cluster, with requests and life times.

Facts: alibaba/clusterdata, cluster-trace-gpu-v2023 (``openb_node_list_*``, ``openb_pod_list_*``).
"""

import polars as pl

from tracekit.errors import TracekitError
from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources._cluster import Batch, Opened, Read
from tracekit.sources._rows import Rule, amounts, long, refuse, seconds
from tracekit.sources.released._lines import (
    GPU_MODEL,
    headed,
    ms,
    named,
    of_model,
    one_of,
    standing,
    together,
)
from tracekit.units import BYTES_PER_MIB

_MIB = float(BYTES_PER_MIB)
#: Columns that hold numbers, of nodes and of pods.
NODE_NUMBERS = ("cpu_milli", "memory_mib", "gpu")
POD_NUMBERS = (
    "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time", "deletion_time",
)  # fmt: skip
ASKED = POD_NUMBERS[:4]
BACKWARD = Rule(
    column="deletion_time",
    broken=pl.col("deletion_time") < pl.col("creation_time"),
    expected="no time before creation_time",
)


def read_nodes(opened: Opened) -> Read:
    """Nodes, all there from the beginning."""
    _only_one(opened, "nodes")
    for raw, broken in named(opened, ["sn", "model"], NODE_NUMBERS, "node"):
        yield from broken
        yield from standing(
            raw.with_columns(node=pl.col("sn")),
            {
                "cpu_milli": ("cpu", "cores", 0.001),
                "memory_mib": ("memory", "bytes", _MIB),
                "gpu": ("gpu", "count", 1.0),
            },
            *of_model(GPU_MODEL, raw["model"]),
        )


def read_pods(opened: Opened) -> Read:
    """Pods in order of creation, then of the file."""
    _only_one(opened, "pods")
    raw, broken = together(named(opened, ["name", "gpu_spec"], POD_NUMBERS, "container"))
    yield from broken
    kept, backward = refuse(
        raw, [BACKWARD, *amounts(*ASKED), *seconds(*POD_NUMBERS[4:])], "container"
    )
    yield from backward
    pods = kept.sort("creation_time", maintain_order=True, nulls_last=True).with_columns(
        time_ms=ms("creation_time"),
        container=pl.col("name"),
        gpu=pl.col("num_gpu") * pl.col("gpu_milli"),
    )
    yield Batch(
        table="container",
        rows=pods.select(
            "time_ms",
            "container",
            pl.int_range(pl.len()).alias("position"),
            ms("deletion_time").alias("departure_ms"),
            one_of(GPU_MODEL, pods["gpu_spec"]).alias("selector"),
            "line",
        ),
    )
    asked = long(
        pods.with_columns(pl.when(pl.col("gpu") > 0).then("gpu")),
        ["time_ms", "container"],
        {
            "cpu_milli": ("cpu", "cores", 0.001),
            "memory_mib": ("memory", "bytes", _MIB),
            "gpu": ("gpu", "count", 0.001),
        },
    )
    yield Batch(table="container_resource", rows=asked.rename({"amount": "request"}))


def _only_one(opened: Opened, word: str) -> None:
    """Raise TracekitError where several lists lie together: one name stands for several things."""
    lists = sorted(one.name for one in opened.beside.get(word, ()))
    if len(lists) > 1:
        raise TracekitError(
            f"{len(lists)} lists of {word}, each a trace of its own: {', '.join(lists)}",
            hint="ingest one list of nodes and one of pods, in a folder of their own",
        )


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
            recognises=headed("sn", "model", *NODE_NUMBERS),
            read=read_nodes,
            alone=True,
        ),
        ClusterFile(
            word="pods",
            title="pods: requests, creation, deletion",
            tables=("container", "container_resource"),
            recognises=headed("name", "gpu_spec", *POD_NUMBERS),
            read=read_pods,
            alone=True,
        ),
    ),
)
