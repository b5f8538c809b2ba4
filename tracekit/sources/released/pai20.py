"""Alibaba GPU cluster trace of 2020 (PAI): machine learning jobs on 1,897 machines, two months.

Facts: alibaba/clusterdata, cluster-trace-gpu-v2020, README.md (columns, checksums), and the machine
table itself.
"""

from collections.abc import Callable
from functools import partial

import polars as pl

from tracekit.sources import Archives, ClusterFile, ClusterSource
from tracekit.sources._cluster import Batch, Opened, Read
from tracekit.sources._rows import Delimited, Rule, frames, long, refuse
from tracekit.sources.released._alibaba_batch import BatchForm, read_instances, read_tasks
from tracekit.sources.released._known import Known
from tracekit.sources.released._lines import headerless, ms, of_model, one_of, standing, whole
from tracekit.units import BYTES_PER_GIB, BYTES_PER_MIB

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
    """Mean use of instances, at the time when they began."""
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
    """Mean use of a machine while an instance ran on it, at the instance's beginning."""
    for raw, broken in frames(opened, _METRICS):
        yield from broken
        made = raw.with_columns(ms("start").alias("time_ms"))
        yield Batch(table="node_amount", rows=long(made, ["time_ms", "node"], _MEASURED))


_archive = Archives.single
_N = r"(?:-?[\d.]+(?:[eE][-+]?\d+)?)?"
_NAME = r"[\w./-]*"


SOURCE = ClusterSource(
    name="pai20",
    title="Alibaba GPU cluster trace 2020 (PAI): 1,897 machines, jobs in tasks and instances",
    url="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2020",
    download_url="http://aliopentrace.oss-cn-beijing.aliyuncs.com/v2020GPUTraces/",
    licence="CC-BY-4.0",
    missing_names=frozenset({"", "nan", "NaN"}),
    lacks=(
        "use over time: one average over the life of each instance",
        "racks and zones",
        "disk",
        "priorities",
        "prices",
    ),
    inferred=(
        "an instance asks for what its task asks for",
        "an average over the life of an instance stands at the time when it began",
        "tasks without their instances: each instance lives as long as its task",
        "a job insists on a kind of GPU where its tag names one (gpu_type_spec)",
    ),
    notes=(
        "times are seconds less a constant: hour and weekday in UTC+8 are right, dates are not",
        "no gang is stated, though instances of distributed training start together",
        "pai_job_table is not read: tasks and instances have their own times and states",
        "inst_id means the job",
        "gigabytes are taken as 2^30 bytes; upstream does not say",
        "of what network bytes are counted is not stated: per sample, per second or in all",
    ),
    files=(
        ClusterFile(
            word="machines",
            title="machines: cores, memory, GPUs and their kind",
            tables=("node", "node_resource"),
            recognises=headerless("pai_machine_spec", rf"{_NAME},[A-Z]\w*,{_N},{_N},{_N}"),
            read=read_machine_spec,
            archives=_archive(
                "pai_machine_spec",
                32 << 10,
                "cc0d38a4045af1b1af8179de8b1b54b1ddd995e6160d6d061a6b1000f1276c2d",
            ),
        ),
        ClusterFile(
            word="tasks",
            title="tasks: requests",
            tables=("container", "container_resource"),
            recognises=headerless(
                "pai_task_table", rf"{_NAME},{_NAME},{_N},[A-Z]\w*(,{_N}){{5}},\w*"
            ),
            read=partial(read_tasks, form=BATCH),
            archives=_archive(
                "pai_task_table",
                34 * BYTES_PER_MIB,
                "cd1d6dc3215d2a8607ccf6b6dd952b5db776df86926c73259fea7c1499ac40e5",
            ),
        ),
        ClusterFile(
            word="instances",
            title="instances: lives, machines",
            tables=("container", "container_resource"),
            recognises=headerless(
                "pai_instance_table",
                rf"{_NAME},{_NAME},{_NAME},{_NAME},{_NAME},[A-Z]\w*,{_N},{_N},{_NAME}",
            ),
            read=partial(read_instances, form=BATCH),
            archives=_archive(
                "pai_instance_table",
                663 * BYTES_PER_MIB,
                "1bf1e423a7ce3f8d086699801c362fd56a7182abdb234139e5ebbed97995ca06",
            ),
        ),
        ClusterFile(
            word="tags",
            title="tags: the kind of GPU that a job insists on",
            tables=("container",),
            recognises=headerless(
                "pai_group_tag_table", rf"[0-9a-f]+,{_NAME},{_NAME},{_NAME},{_NAME}"
            ),
            read=read_group_tag,
            archives=_archive(
                "pai_group_tag_table",
                53 * BYTES_PER_MIB,
                "722fef30b7fb7aa50dabd79155614b5423a9d65cf45a9b26c590d57725423a14",
            ),
        ),
        ClusterFile(
            word="sensors",
            title="average use of instances",
            tables=("container_amount",),
            recognises=headerless("pai_sensor_table", rf"({_NAME},){{6}}{_N}(,{_N}){{9}}"),
            read=read_sensor,
            archives=_archive(
                "pai_sensor_table",
                388 * BYTES_PER_MIB,
                "9a0b82e8bdf3949281e4ba1423d9b4b34847e52799eecb138966de46da69c7a0",
            ),
        ),
        ClusterFile(
            word="machine_usage",
            title="average use of machines while an instance ran",
            tables=("node_amount",),
            recognises=headerless("pai_machine_metric", rf"{_NAME},{_NAME}(,{_N}){{10}}"),
            read=read_machine_metric,
            archives=_archive(
                "pai_machine_metric",
                198 * BYTES_PER_MIB,
                "53ad917193d3b1dd0f3055e723148b1f36c2f81789b014ea2930a7875892eef5",
            ),
        ),
    ),
)
