"""Borg cell of 2011: machines, tasks with requests, priorities, usage; sizes are normalised.

Facts: google/cluster-data, ClusterData2011_2 (headerless CSV, times in microseconds).
"""

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources.released import _google11_readers as readers
from tracekit.sources.released._google_labels import LABELS
from tracekit.sources.released._google_times import AFTER, BEFORE, SAMPLED

SOURCE = ClusterSource(
    name="google11",
    title="Google cluster data 2011 (version 2): 12,500 machines, 29 days, tasks and usage",
    url="https://github.com/google/cluster-data/blob/master/ClusterData2011_2.md",
    missing_names=frozenset({""}),
    licence="CC-BY-4.0",
    files=(
        ClusterFile(
            word="machines",
            title="machines that come, go and change",
            tables=("node", "node_resource"),
            recognises=readers.MACHINES.fits,
            read=readers.read_machines,
        ),
        ClusterFile(
            word="attributes",
            title="attributes of machines, which become labels of machine_events beside it",
            tables=("node",),
            recognises=readers.ATTRIBUTES.fits,
            read=readers.read_attributes,
        ),
        ClusterFile(
            word="jobs",
            title="events of jobs; they say nothing that those of tasks do not",
            tables=("container",),
            recognises=readers.JOBS.fits,
            read=readers.read_jobs,
        ),
        ClusterFile(
            word="tasks",
            title="events of tasks",
            tables=("container", "container_resource"),
            recognises=readers.TASKS.fits,
            read=readers.read_tasks,
        ),
        ClusterFile(
            word="usage",
            title="usage of tasks over 300 s",
            tables=("container_amount",),
            recognises=readers.USAGE.fits,
            read=readers.read_usage,
        ),
    ),
    lacks=(
        "cores and bytes: all sizes are fractions of the largest machine of the cell",
        "disk space of machines",
        "network",
        "failure domains",
        "task_constraints, users, scheduling classes, CPI and MAI: not read",
    ),
    inferred=(
        "a task is one container from its first SUBMIT to the last end that no start follows",
        "its node is the first machine that an event of it names",
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
)
