"""Borg cell of 2011: machines, tasks with requests, priorities, usage; sizes are normalised.

Facts: google/cluster-data, ClusterData2011_2 (headerless CSV, times in microseconds).
"""

from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind
from tracekit.intake.sources.released._google import (
    AFTER,
    BEFORE,
    BESIDE_MACHINES,
    FIRST_MACHINE,
    LABELS,
    OF_ATTRIBUTES,
    SAMPLED,
)

_NAME = r"[A-Za-z0-9+/]{43}="
_NUMBER = r"[-+.\deE]*"

SOURCE = Released(
    name="google11",
    title="Google cluster data 2011 (version 2): 12,500 machines, 29 days, tasks and usage",
    url="https://github.com/google/cluster-data/blob/master/ClusterData2011_2.md",
    licence="CC-BY-4.0",
    lacks=(
        "cores and bytes: all sizes are fractions of the largest machine of the cell",
        "disk space of machines",
        "network",
        "failure domains",
        "task_constraints, users, scheduling classes, CPI and MAI: not read",
    ),
    inferred=(
        "a task is one container from its first SUBMIT to the last end that no start follows",
        FIRST_MACHINE,
        "different-machines: tasks of the job share no machine",
        LABELS,
    ),
    notes=(
        BEFORE,
        AFTER,
        "ingest all parts of task_events at once: a task comes in one part and goes in another",
        "disk_io is the share of time that the disk served the task, only in the first 14 days",
        SAMPLED,
    ),
    shared="_google",
    kinds=(
        Kind(
            word="machines",
            title="machines that come, go and change",
            columns=rf"time:number!=\d+ machine:whole!=\d+ event:number!=[012] platform={_NAME}|"
            " cpu:number memory:number",
            rules=("event: event NOT IN (0, 1, 2) -> a code from 0 to 2",),
            beside=("attributes",),
            whole=True,
        ),
        Kind(
            word="attributes",
            title=OF_ATTRIBUTES,
            columns=rf"time:number!=\d+ machine:whole!=\d+ name!={_NAME} value deleted:number=[01]",
            needs={"machines": BESIDE_MACHINES},
            tables=("node",),
        ),
        Kind(
            word="jobs",
            title="events of jobs; they say nothing that those of tasks do not",
            columns=rf"time:number=\d+ missing=[0-6]? job=\d+ event:number=[0-8] user={_NAME}|"
            rf" class=[0-3]? name={_NAME}| logical={_NAME}|",
            tables=("container",),
        ),
        Kind(
            word="tasks",
            title="events of tasks",
            columns=r"time:number!=\d+ missing=[0-6]? job:whole!=\d+ task:whole!=\d+ machine=\d*"
            rf" event:number!=[0-8] -={_NAME}| -=[0-3]? priority:number=\d* cpu:number"
            " memory:number disk:number different:number=[01]?",
            rules=("event: event NOT IN (0, 1, 2, 3, 4, 5, 6, 7, 8) -> a code from 0 to 8",),
            tables=("container", "container_resource"),
        ),
        Kind(
            word="usage",
            title="usage of tasks over 300 s",
            columns=r"time:number!=\d+ end:number=\d+ job:whole!=\d+ task:whole!=\d+ -=\d*"
            rf" cpu:number memory:number {f'-={_NUMBER} ' * 4}disk_io:number disk:number"
            rf" {f'-={_NUMBER} ' * 7}",
            rules=("""end: "end" < time -> an end no earlier than the start""",),
        ),
    ),
)
