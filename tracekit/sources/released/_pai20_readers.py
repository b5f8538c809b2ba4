"""Readers of the tables of Alibaba's GPU trace of 2020 (PAI)."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from tracekit.sources._cluster import Batch, Opened, Read
from tracekit.sources._refused import Rule, refuse
from tracekit.sources._rows import Delimited, frames, long
from tracekit.sources.released._alibaba_batch import BatchForm
from tracekit.sources.released._known import Known
from tracekit.sources.released._lines import ms, of_model, one_of, standing, whole
from tracekit.units import BYTES_PER_GIB

_GB = float(BYTES_PER_GIB)
#: The label that says which GPUs a machine has.
GPU_TYPE = "gpu_type"

_MACHINES = Delimited(
    columns=("node", "gpu_type", "cpu", "memory", "gpu"),
    numbers=("cpu", "memory", "gpu"),
    comment="machine,",
    table="node",
)
_TASKS = Delimited(
    columns=(
        "job",
        "task",
        "instances",
        "status",
        "start",
        "end",
        "cpu",
        "memory",
        "gpu",
        "",
    ),
    numbers=("instances", "start", "end", "cpu", "memory", "gpu"),
    comment="job_name,",
    table="container",
)
_INSTANCES = Delimited(
    columns=("job", "task", "", "name", "job_id", "status", "start", "end", "node"),
    numbers=("start", "end"),
    comment="job_name,",
    table="container",
)
_TAGS = Delimited(columns=("job_id", "", "gpu_type", "", ""), comment="inst_id,", table="container")
_MEANS = ("cpu", "gpu", "memory", "memory_max", "gpu_memory", "gpu_memory_max")
_READ = ("net_in", "net_out", "net_in_count", "net_out_count")
_SENSORS = Delimited(
    columns=("", "", "name", "", "", "", *_MEANS, *_READ),
    numbers=(*_MEANS, *_READ),
    comment="job_name,",
    table="container_amount",
)
_METRICS = Delimited(
    columns=(
        "", "node", "start", "", "cpu_iowait", "cpu_kernel", "cpu_user", "gpu", "load1", "net_in",
        "containers", "cpu",
    ),
    numbers=(
        "start", "cpu_iowait", "cpu_kernel", "cpu_user", "gpu", "load1", "net_in", "containers",
        "cpu",
    ),
    comment="worker_name,",
    table="node_amount",
)  # fmt: skip
_SENSED = {
    "cpu": ("cpu", "cores", 0.01),
    "gpu": ("gpu", "count", 0.01),
    "memory": ("memory", "bytes", _GB),
    "memory_max": ("memory_max", "bytes", _GB),
    "gpu_memory": ("gpu_memory", "bytes", _GB),
    "gpu_memory_max": ("gpu_memory_max", "bytes", _GB),
    "net_in": ("net_in", "bytes", 1.0),
    "net_out": ("net_out", "bytes", 1.0),
    "net_in_count": ("net_in_count", "count", 1.0),
    "net_out_count": ("net_out_count", "count", 1.0),
}
_MEASURED = {
    **{name: (name, "fraction", 0.01) for name in ("cpu", "cpu_iowait", "cpu_kernel", "cpu_user")},
    "gpu": ("gpu", "fraction", 0.01),
    "load1": ("load1", "count", 1.0),
    "net_in": ("net_in", "bytes", 1.0),
    "containers": ("containers", "count", 1.0),
}


def _selector(opened: Opened) -> Callable[[pl.DataFrame], pl.Series]:
    """The GPUs that jobs insist on, by the tags that are read beside."""
    tags = Known(opened.beside.get("tags", ()), _TAGS, ("job_id",), ("gpu_type",))
    return lambda rows: one_of(GPU_TYPE, tags.of(rows)["gpu_type"])


BATCH = BatchForm(
    tasks=_TASKS,
    instances=_INSTANCES,
    asked={
        "cpu": ("cpu", "cores", 0.01),
        "memory": ("memory", "bytes", _GB),
        "gpu": ("gpu", "count", 0.01),
    },
    unique_names=True,
    selector=_selector,
)


def read_machine_spec(opened: Opened) -> Read:
    """Nodes, all there from the beginning."""
    raw, broken = whole(opened, _MACHINES)
    yield from broken
    sizes = {
        "cpu": ("cpu", "cores", 1.0),
        "memory": ("memory", "bytes", _GB),
        "gpu": ("gpu", "count", 1.0),
    }
    yield from standing(raw, sizes, *of_model(GPU_TYPE, raw["gpu_type"]))


def read_group_tag(opened: Opened) -> Read:
    """Nothing by itself: the reader of instances takes from it where they may run."""
    for _, broken in frames(opened, _TAGS):
        yield from broken


def read_sensor(opened: Opened) -> Read:
    """What instances used on average, at the time when they began."""
    begun = Known(opened.beside.get("instances", ()), _INSTANCES, ("name",), ("start",))
    rule = Rule(
        column="name",
        broken=pl.col("start").is_null(),
        expected="a worker_name of pai_instance_table, which says when it began",
    )
    for raw, broken in frames(opened, _SENSORS):
        yield from broken
        timed = pl.concat([raw, begun.of(raw)], how="horizontal")
        kept, unknown = refuse(timed, [rule], "container_amount")
        yield from unknown
        used = kept.with_columns(ms("start").alias("time_ms"), pl.col("name").alias("container"))
        yield Batch(table="container_amount", rows=long(used, ["time_ms", "container"], _SENSED))


def read_machine_metric(opened: Opened) -> Read:
    """What a machine used on average while an instance ran on it, at the instance's beginning."""
    for raw, broken in frames(opened, _METRICS):
        yield from broken
        made = raw.with_columns(ms("start").alias("time_ms"))
        yield Batch(table="node_amount", rows=long(made, ["time_ms", "node"], _MEASURED))
