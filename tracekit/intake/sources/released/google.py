"""Google's Borg cells of 2011 and 2019: machines, tasks or instances, usage.

Facts: google/cluster-data. 2011: ClusterData2011_2 (headerless CSV, times in microseconds). 2019:
clusterdata_trace_format_v3.proto (JSON lines or Parquet).
"""

import json
import re
from functools import partial
from typing import Any

import polars as pl

from tracekit.base.opened import PARQUET_MAGIC
from tracekit.intake.sources import Head
from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind
from tracekit.intake.sources._objects import objects

BEFORE = "the trace begins at 600 s: what stands at time 0 was there before and is put at 600 s"
OF_ATTRIBUTES = "attributes of machines, which become labels of machine_events beside it"
FIRST_MACHINE = "its node is the first machine that an event of it names"
AFTER = "events at 2^63-1 lie behind the trace and say nothing about it: they are left out"
SAMPLED = "a sample stands at the beginning of its 300 s"
LABELS = "a machine's labels are its attributes at the time of its event"
#: What to do with attributes that come alone.
BESIDE_MACHINES = "ingest both together: attributes are labels of machines"


_NAME = r"[A-Za-z0-9+/]{43}="
_NUMBER = r"[-+.\deE]*"

GOOGLE11 = Released(
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


_LOOKED_AT = 50
_TEXT = pl.String()
_RESOURCES = pl.Struct({"cpus": _TEXT, "memory": _TEXT})
_CONSTRAINT = pl.Struct({"name": _TEXT, "value": _TEXT, "relation": _TEXT})
_RECORDS = {
    **dict.fromkeys(("capacity", "resource_request", "average_usage"), _RESOURCES),
    "constraint": pl.List(_CONSTRAINT),
}
_MACHINES = "time:whole! machine_id:whole! type switch_id platform_id capacity:any"
_ATTRIBUTES = "time:whole! machine_id:whole! name! value deleted"
_COLLECTIONS = "collection_id:whole! max_per_machine max_per_switch"
_INSTANCES = (
    "time:whole! type collection_id:whole! instance_index:whole! machine_id priority missing_type"
    " collection_type alloc_collection_id alloc_instance_index resource_request:any constraint:any"
)
_USAGE = (
    "start_time:whole! end_time:number collection_id:whole! instance_index:whole! average_usage:any"
)


def _keys(head: Head) -> set[str]:
    """The fields of the first rows; none where a line is no object."""
    if head.columns:
        return set(head.columns)
    found: set[str] = set()
    for line in head.lines[:_LOOKED_AT]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        found |= row.keys() if isinstance(row, dict) else set()
    return found


def _is(head: Head, table: str, some: set[str], but: set[str]) -> bool:
    """Whether a file is of this kind: by name for packed Parquet, else by its fields."""
    if head.start.startswith(PARQUET_MAGIC) and not head.columns:
        return re.fullmatch(rf"{table}-\d{{12}}\.parquet", head.name) is not None
    keys = _keys(head)
    return some <= keys and not but & keys


def _kind(table: str, columns: str, some: str, but: str, to: str, **more: Any) -> Kind:
    """A kind of file, JSON lines or Parquet, recognised by fields that it has and that it lacks."""
    names = [one.split(":")[0].strip("!") for one in columns.split()]
    fields = {one: _RECORDS.get(one, _TEXT) for one in names}
    return Kind(
        columns=columns,
        rows=partial(objects, columns=fields, table=to),
        recognises=partial(_is, table=table, some=set(some.split()), but=set(but.split())),
        **more,
    )


GOOGLE19 = Released(
    name="google19",
    title="Google cluster data 2019 (version 3): eight cells, May 2019, instances and usage",
    url="https://github.com/google/cluster-data/blob/master/ClusterData2019.md",
    licence="CC-BY-4.0",
    lacks=(
        "cores and bytes: all sizes are fractions of the largest machine",
        "disk and network",
        "failure domains besides switches",
        "largest and sampled usage, percentiles, CPI, scheduling classes, users: not read",
    ),
    inferred=(
        "an instance is one container from its first SUBMIT to the last end that no start follows",
        FIRST_MACHINE,
        "an alloc instance reserves; a task in it requests 0 and stays together with it",
        "what a task in an alloc instance asks for is its limit",
        "max_per_machine and max_per_switch keep a collection apart; of both the first holds",
        "constraints are selectors of labels where machine_attributes are ingested too",
        LABELS,
    ),
    notes=(
        BEFORE,
        AFTER,
        "ingest all files of a cell at once, and one cell per store",
        SAMPLED,
    ),
    shared="_google",
    kinds=(
        _kind(
            word="machines",
            title="machines that come, go and change (machine_events)",
            columns=_MACHINES,
            to="node",
            table="machine_events",
            some="time machine_id type",
            but="collection_id name",
            rules=(
                (
                    "type: coalesce(machine_event(type), 0) = 0"
                    " -> one of ADD, REMOVE, UPDATE or its number"
                ),
            ),
            beside=("attributes",),
            whole=True,
        ),
        _kind(
            word="attributes",
            title=OF_ATTRIBUTES,
            columns=_ATTRIBUTES,
            to="node",
            table="machine_attributes",
            some="time machine_id name",
            but="collection_id",
            needs={"machines": BESIDE_MACHINES},
            tables=("node",),
        ),
        _kind(
            word="collections",
            title="events of jobs and alloc sets, whose limits per machine the instances take",
            columns=_COLLECTIONS,
            to="container",
            table="collection_events",
            some="time type collection_id",
            but="instance_index",
            tables=("container",),
        ),
        _kind(
            word="instances",
            title="events of tasks and alloc instances",
            columns=_INSTANCES,
            to="container",
            table="instance_events",
            some="time type collection_id instance_index",
            but="average_usage",
            rules=(
                (
                    "type: instance_event(type) IS NULL"
                    " -> an event of instance_events, by name or number"
                ),
            ),
            beside=("collections", "attributes"),
            tables=("container", "container_resource"),
        ),
        _kind(
            word="usage",
            title="usage of instances over 300 s",
            columns=_USAGE,
            to="container_amount",
            table="instance_usage",
            some="start_time collection_id average_usage",
            but="type",
            rules=("end_time: end_time < start_time::DOUBLE -> an end no earlier than the start",),
        ),
    ),
)
