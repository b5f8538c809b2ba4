"""Alibaba cluster trace of 2017: services bound to vCPUs, and batch jobs, on 1,313 machines.

Facts: alibaba/clusterdata, cluster-trace-v2017, schema.csv and trace_201708.md, issues 10, 11, 19
and 33, and the tables of machines and tasks themselves.
"""

from tracekit.intake.sources import Archives
from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind
from tracekit.intake.sources.released._alibaba_batch import (
    ALONE,
    BEGUN,
    INFERRED,
    MOST_INSTANCE_BYTES,
)

#: One archive holds all six tables; its size is not stated.
_ARCHIVES = Archives(path="alibaba-trace-2017.tar.gz", parts=1, part_bytes=200 << 20)
_LOADS = "load1:number load5:number load15:number"

SOURCE = Released(
    name="alibaba17",
    title="Alibaba cluster trace 2017: 1,313 machines, services bound to vCPUs, batch jobs, a day",
    url="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-v2017",
    download_url="http://aliopentrace.oss-cn-beijing.aliyuncs.com/v2017Traces/",
    lacks=(
        "memory and disk in bytes: fractions of the largest machine",
        "names of services",
        "network",
        "racks and zones",
        "prices",
    ),
    inferred=(
        "an online instance is a service of its own, since no service is named",
        "a machine is closed from its first error on: no event says when one is over",
        "an instance of a batch task has no name: job, task and line stand for it",
        *INFERRED,
    ),
    notes=(
        "sizes of 0 in error rows are no capacity",
        "of two Create events of one instance the first holds; the other counts as a duplicate",
        "tasks that are read beside their instances give these their requests, and no rows",
        "times before 0 are from before the trace and become 0",
        "upstream calls vCPUs 0 to 31 one package, and 0 and 32 one core: both cannot hold",
        "up to 124 cpus are given out on machines of 64 (issue 19)",
        "use of instances that no event names is kept (9088 and others)",
        "job and task are missing in instances that start between 60,000 s and 89,000 s (issue 10)",
    ),
    shared="_alibaba_batch",
    kinds=(
        Kind(
            word="machines",
            title="machines: sizes, errors",
            stem="server_event",
            columns=r"time:seconds=-?\d+ node=\d+ event=add|softerror|harderror detail=\w*"
            " cpu:number memory:number disk:number",
            rules=(
                (
                    "event: event NOT IN ('add', 'softerror', 'harderror')"
                    " -> add, softerror or harderror"
                ),
            ),
            whole=True,
            archives=_ARCHIVES,
        ),
        Kind(
            word="machine_usage",
            title="use of machines",
            stem="server_usage",
            columns=r"time:seconds=-?\d+ node=\d+ cpu:number memory:number disk:hundredths"
            f" {_LOADS}",
            archives=_ARCHIVES,
        ),
        Kind(
            word="containers",
            title="online instances: requests, machines, vCPUs",
            stem="container_event",
            columns=r"time:seconds=-?\d+ event=Create|Remove container=\d+ node=\d* cpu:number"
            r" memory:number disk:number cpus=[\d|]* -=",
            fewest=7,
            whole=True,
            archives=_ARCHIVES,
        ),
        Kind(
            word="container_usage",
            title="use of online instances",
            stem="container_usage",
            columns=r"time:seconds=-?\d+ container=\d+ cpu:number memory:number disk:hundredths"
            rf" {_LOADS} cpi:number mpki:number cpi_max:number mpki_max:number",
            beside=("containers",),
            archives=_ARCHIVES,
        ),
        Kind(
            word="tasks",
            title="batch tasks: requests",
            stem="batch_task",
            columns=r"start:seconds=-?\d+ end:seconds=-?\d+ job=\d* task=\d* instances:number=\d*"
            r" status=[A-Z]\w* cpu:hundredths memory:number",
            # one copy of the table that goes round has a line of names
            comment="task_create_time",
            rules=ALONE,
            beside=("instances",),
            beside_bytes=MOST_INSTANCE_BYTES,
            archives=_ARCHIVES,
        ),
        Kind(
            word="instances",
            title="batch instances: lives, machines, use",
            stem="batch_instance",
            columns=r"start:seconds=-?\d* end:seconds=-?\d* job=\d* task=\d* node=\d*"
            r" status=[A-Z]\w* try:number=\d* -=\d* -:number cpu:number -:number memory:number",
            rules=BEGUN,
            tables=("container", "container_resource", "container_amount"),
            beside=("tasks",),
            archives=_ARCHIVES,
        ),
    ),
)
