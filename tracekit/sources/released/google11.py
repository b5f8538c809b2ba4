"""Borg cell of 2011: machines, tasks with requests, priorities, usage; sizes are normalised.

Facts: google/cluster-data, ClusterData2011_2 (headerless CSV, times in microseconds).
"""

from collections.abc import Iterator

import polars as pl

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources._cluster import Batch, Broken, Opened, Read
from tracekit.sources._lives import Parts, lives
from tracekit.sources._rows import Rule, frames, long, missing, refuse
from tracekit.sources._shape import INTEGER, REAL, Shape
from tracekit.sources.released._google import (
    AFTER,
    BEFORE,
    FIRST_MACHINE,
    LABELS,
    OF_ATTRIBUTES,
    SAMPLED,
    backwards,
    check_beside_machines,
    in_trace,
    labelled,
    time_ms,
    whole,
)

_NAME = r"[A-Za-z0-9+/]{43}="


MACHINES = Shape(
    (
        ("time", INTEGER), ("machine", INTEGER), ("event", "[012]"), ("platform", f"{_NAME}|"),
        ("cpu", REAL), ("memory", REAL),
    )
)  # fmt: skip
ATTRIBUTES = Shape(
    (
        ("time", INTEGER),
        ("machine", INTEGER),
        ("name", _NAME),
        ("value", "[^,]*"),
        ("deleted", "[01]"),
    )
)
JOBS = Shape(
    (
        ("time", INTEGER), ("missing", "[0-6]?"), ("job", INTEGER), ("event", "[0-8]"),
        ("user", f"{_NAME}|"), ("class", "[0-3]?"), ("name", f"{_NAME}|"),
        ("logical", f"{_NAME}|"),
    )
)  # fmt: skip
TASKS = Shape(
    (
        ("time", INTEGER), ("missing", "[0-6]?"), ("job", INTEGER), ("task", INTEGER),
        ("machine", r"\d*"), ("event", "[0-8]"), ("", f"{_NAME}|"), ("", "[0-3]?"),
        ("priority", r"\d*"), ("cpu", REAL), ("memory", REAL), ("disk", REAL),
        ("different", "[01]?"),
    )
)  # fmt: skip
USAGE = Shape(
    (
        ("time", INTEGER), ("end", INTEGER), ("job", INTEGER), ("task", INTEGER), ("", r"\d*"),
        ("cpu", REAL), ("memory", REAL), ("", REAL), ("", REAL), ("", REAL), ("", REAL),
        ("disk_io", REAL), ("disk", REAL), *((("", REAL),) * 7),
    )
)  # fmt: skip

_SIZES = ("cpu", "memory", "disk")
_SUBMIT, _SCHEDULE, _UPDATES = 0, 1, (7, 8)
_ENDS = [2, 3, 4, 5, 6]
_EVENT = pl.col("event").cast(pl.Int64)
_CONTAINER = pl.format("{}/{}", "job", "task").alias("container")


def _numbers_between(column: str, highest: int) -> list[Rule]:
    """Rules that a code is a whole number from 0 on."""
    wrong = ~pl.col(column).is_in([float(one) for one in range(highest + 1)])
    expected = f"a code from 0 to {highest}"
    return [
        *missing(column, expected=expected),
        Rule(column=column, broken=wrong, expected=expected),
    ]


def read_machines(opened: Opened) -> Read:
    """States and sizes of machines, with the labels that the attributes beside it say."""
    form = MACHINES.form("node", ("time", "event", "cpu", "memory"))
    rules = [*missing("time"), *whole("machine"), *_numbers_between("event", 2)]
    for rows, broken in frames(opened, form):
        yield from broken
        good, refused = refuse(rows, rules, form.table)
        yield from refused
        events = in_trace(good).with_columns(
            time_ms("time"), _EVENT, pl.col("machine").alias("node")
        )
        yield Batch(table="node", rows=_states(events, opened))
        sized = events.filter(pl.col("event") != 1)
        sizes = {name: (name, "fraction", 1.0) for name in ("cpu", "memory")}
        yield Batch(table="node_resource", rows=long(sized, ("time_ms", "node"), sizes))


def _states(events: pl.DataFrame, opened: Opened) -> pl.DataFrame:
    states = events.select(
        "time_ms",
        "node",
        pl.when(pl.col("event") == 1)
        .then(pl.lit("gone"))
        .otherwise(pl.lit("ready"))
        .alias("state"),
        "platform",
        (pl.col("line") - 1).alias("position"),
        "line",
    )
    attributes = [frame for one in opened.beside.get("attributes", ()) for frame in _named(one)]
    return labelled(states, attributes)


def _named(opened: Opened) -> Iterator[pl.DataFrame]:
    """The whole rows of an attribute file: node, time_ms, name, value (null: deleted)."""
    form = ATTRIBUTES.form("node", ("time", "deleted"))
    for rows, _ in frames(opened, form):
        good, _ = refuse(rows, missing("time", "machine", "name"), form.table)
        yield in_trace(good).select(
            pl.col("machine").alias("node"),
            time_ms("time"),
            "name",
            pl.when(pl.col("deleted").ne_missing(1))
            .then(pl.col("value").fill_null(""))
            .alias("value"),
        )


def read_attributes(opened: Opened) -> Read:
    """The broken rows only: the others are labels of the machines of ``machine_events``."""
    check_beside_machines(opened)
    form = ATTRIBUTES.form("node", ("time", "deleted"))
    for rows, broken in frames(opened, form):
        yield from broken
        yield from refuse(rows, missing("time", "machine", "name"), form.table)[1]


def read_jobs(opened: Opened) -> Read:
    """The broken rows only: a job has nothing that its tasks do not say."""
    for _, broken in frames(opened, JOBS.form("container", ("time", "event"))):
        yield from broken


def read_tasks(opened: Opened) -> Read:
    """Requests of this file's events; and, of the first part, the lives of all tasks."""
    for rows, broken in _tasks(opened):
        yield from broken
        asked = rows.filter(
            pl.col("event").is_in([_SUBMIT, *_UPDATES])
            | ((pl.col("event") == _SCHEDULE) & pl.col("missing").is_not_null())
        )
        sizes = {name: (name, "fraction", 1.0) for name in _SIZES}
        requests = long(asked, ("time_ms", "container"), sizes).rename({"amount": "request"})
        yield Batch(table="container_resource", rows=requests)
    parts = Parts.of(opened, "tasks")
    if parts.first:
        events = (_events(rows) for part in parts.files for rows, _ in _tasks(part))
        for life in lives(events):
            yield Batch(table="container", rows=life.with_row_index("position"))


def _tasks(opened: Opened) -> Iterator[tuple[pl.DataFrame, list[Broken]]]:
    form = TASKS.form("container", ("time", "event", "priority", *_SIZES, "different"))
    rules = [*missing("time"), *whole("job", "task"), *_numbers_between("event", 8)]
    for rows, broken in frames(opened, form):
        good, refused = refuse(rows, rules, form.table)
        yield in_trace(good).with_columns(time_ms("time"), _EVENT, _CONTAINER), [*broken, *refused]


def _events(rows: pl.DataFrame) -> pl.DataFrame:
    apart = pl.col("different") == 1
    return rows.select(
        "container",
        "time_ms",
        pl.col("event").is_in([_SUBMIT, _SCHEDULE]).alias("start"),
        pl.col("event").is_in(_ENDS).alias("end"),
        pl.col("job").alias("service"),
        pl.col("machine").alias("node"),
        "priority",
        pl.when(apart).then("job").alias("apart"),
        pl.when(apart).then(pl.lit("node")).alias("apart_domain"),
        "line",
    )


def read_usage(opened: Opened) -> Read:
    """Mean CPU, canonical memory, disk space and disk time of each sample."""
    measures = ("cpu", "memory", "disk", "disk_io")
    form = USAGE.form("container_amount", ("time", "end", *measures))
    rules = [*missing("time"), *whole("job", "task"), backwards("time", "end")]
    for rows, broken in frames(opened, form):
        yield from broken
        good, refused = refuse(rows, rules, form.table)
        yield from refused
        samples = in_trace(good).with_columns(time_ms("time"), _CONTAINER)
        units = {name: (name, "fraction", 1.0) for name in measures}
        yield Batch(table="container_amount", rows=long(samples, ("time_ms", "container"), units))


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
            recognises=MACHINES.fits,
            read=read_machines,
        ),
        ClusterFile(
            word="attributes",
            title=OF_ATTRIBUTES,
            tables=("node",),
            recognises=ATTRIBUTES.fits,
            read=read_attributes,
        ),
        ClusterFile(
            word="jobs",
            title="events of jobs; they say nothing that those of tasks do not",
            tables=("container",),
            recognises=JOBS.fits,
            read=read_jobs,
        ),
        ClusterFile(
            word="tasks",
            title="events of tasks",
            tables=("container", "container_resource"),
            recognises=TASKS.fits,
            read=read_tasks,
        ),
        ClusterFile(
            word="usage",
            title="usage of tasks over 300 s",
            tables=("container_amount",),
            recognises=USAGE.fits,
            read=read_usage,
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
)
