"""Alibaba GPU cluster trace of 2020 (PAI): machine learning jobs on 1,897 machines, two months.

Facts: alibaba/clusterdata, cluster-trace-gpu-v2020, README.md (columns, checksums), and the machine
table itself.
"""

from functools import partial

from tracekit.sources import Archives, ClusterFile, ClusterSource
from tracekit.sources.released._alibaba_batch import read_instances, read_tasks
from tracekit.sources.released._lines import headerless
from tracekit.sources.released._pai20_readers import (
    BATCH,
    read_group_tag,
    read_machine_metric,
    read_machine_spec,
    read_sensor,
)
from tracekit.units import BYTES_PER_MIB

_TWO_MONTHS_MS = 62 * 86_400_000
_N = r"(?:-?[\d.]+(?:[eE][-+]?\d+)?)?"
_NAME = r"[\w./-]*"


def _archive(stem: str, size_bytes: int, sha256: str) -> Archives:
    return Archives(
        path=f"{stem}.tar.gz",
        parts=1,
        part_bytes=size_bytes,
        part_ms=_TWO_MONTHS_MS,
        sha256=(sha256,),
    )


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
