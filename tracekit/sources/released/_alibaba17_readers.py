"""Readers of the six tables of the Alibaba trace of 2017."""

import polars as pl

from tracekit.sources._cluster import Batch, Broken, Opened, Read
from tracekit.sources._places import Places
from tracekit.sources._rows import Delimited, Rule, frames, long, refuse
from tracekit.sources.released._alibaba_batch import BatchForm
from tracekit.sources.released._lines import changes, labelled, ms, whole, without_labels
from tracekit.vcpu.cpu_list import spell_cpu_list

_LOADS = ("load1", "load5", "load15")
_STALLS = ("cpi", "mpki", "cpi_max", "mpki_max")
_COUNTS = {name: (name, "count", 1.0) for name in (*_LOADS, *_STALLS)}
_DISK = ("disk", "fraction", 0.01)

_MACHINES = Delimited(
    columns=("time", "node", "event", "detail", "cpu", "memory", "disk"),
    numbers=("time", "cpu", "memory", "disk"),
    table="node",
)
_MACHINE_USAGE = Delimited(
    columns=("time", "node", "cpu", "memory", "disk", *_LOADS),
    numbers=("time", "cpu", "memory", "disk", *_LOADS),
    table="node_usage",
)
_CONTAINERS = Delimited(
    columns=("time", "event", "container", "node", "cpu", "memory", "disk", "cpus", ""),
    numbers=("time", "cpu", "memory", "disk"),
    fewest=7,
    table="container",
)
_CONTAINER_USAGE = Delimited(
    columns=("time", "container", "cpu", "memory", "disk", *_LOADS, *_STALLS),
    numbers=("time", "cpu", "memory", "disk", *_LOADS, *_STALLS),
    table="container_usage",
)
BATCH = BatchForm(
    tasks=Delimited(
        columns=("start", "end", "job", "task", "instances", "status", "cpu", "memory"),
        numbers=("start", "end", "instances", "cpu", "memory"),
        # one copy of the table that goes round has a line of names
        comment="task_create_time",
        table="container",
    ),
    instances=Delimited(
        columns=(
            "start", "end", "job", "task", "node", "status", "try", "", "", "cpu", "", "memory",
        ),
        numbers=("start", "end", "try", "cpu", "memory"),
        table="container",
    ),
    asked={"cpu": ("cpu", "cores", 0.01), "memory": ("memory", "fraction", 1.0)},
    used={"cpu": ("cpu", "cores", 1.0), "memory": ("memory", "fraction", 1.0)},
)  # fmt: skip


def read_server_event(opened: Opened) -> Read:
    """Nodes: added with their sizes; an error closes one."""
    raw, broken = whole(opened, _MACHINES)
    yield from broken
    events, unknown = refuse(
        raw,
        [
            Rule(
                column="event",
                broken=~pl.col("event").is_in(["add", "softerror", "harderror"]),
                expected="add, softerror or harderror",
            )
        ],
        "node",
    )
    yield from unknown
    added = pl.col("event") == "add"
    events = events.with_columns(
        ms("time").alias("time_ms"),
        pl.when(added).then(pl.lit("ready")).otherwise(pl.lit("closed")).alias("state"),
        labelled("error", events["detail"]).alias("labels"),
        pl.col("line").min().over("node").alias("position"),
    ).with_columns(without_labels("node"))
    states = changes(events, "node", "time_ms", ["state", "labels"])
    yield Batch(
        table="node", rows=states.select("time_ms", "node", "position", "state", "labels", "line")
    )
    yield Batch(
        table="node_resource",
        rows=long(
            events.filter(added),
            ["time_ms", "node"],
            {
                "cpu": ("cpu", "cores", 1.0),
                "memory": ("memory", "fraction", 1.0),
                "disk": ("disk", "fraction", 1.0),
            },
        ),
    )


def read_server_usage(opened: Opened) -> Read:
    """Fractions of machines; disk space and load averages."""
    for raw, broken in frames(opened, _MACHINE_USAGE):
        yield from broken
        made = raw.with_columns(ms("time").alias("time_ms"))
        yield Batch(table="node_usage", rows=made.select("time_ms", "node", *_fractions(), "line"))
        amounts = {"disk": _DISK, **{name: _COUNTS[name] for name in _LOADS}}
        yield Batch(table="node_amount", rows=long(made, ["time_ms", "node"], amounts))


def read_container_event(opened: Opened) -> Read:
    """Containers: a row for each Create, so that a second one counts as a duplicate."""
    raw, broken = whole(opened, _CONTAINERS)
    yield from broken
    events = raw.with_columns(ms("time").alias("time_ms"))
    made = events.filter(pl.col("event") == "Create")
    others, wrong = _removals(events.filter(pl.col("event") != "Create"), made)
    yield from wrong
    ends = others.group_by("container").agg(pl.col("time_ms").max().alias("departure_ms"))
    created = made.join(ends, on="container", how="left", maintain_order="left")
    yield Batch(
        table="container",
        rows=created.select(
            "time_ms",
            "container",
            pl.col("container").alias("service"),
            "node",
            pl.col("line").alias("position"),
            "departure_ms",
            _ranges(created["cpus"]).alias("vcpus"),
            "line",
        ),
    )
    first = created.filter(pl.col("container").is_first_distinct())
    yield Batch(
        table="container_resource",
        rows=long(
            first,
            ["time_ms", "container"],
            {
                "cpu": ("cpu", "cores", 1.0),
                "memory": ("memory", "fraction", 1.0),
                "disk": ("disk", "fraction", 1.0),
            },
        ).rename({"amount": "request"}),
    )


def read_container_usage(opened: Opened) -> Read:
    """Fractions of requests; disk space, load averages, cycles and misses of instructions.

    The node is that of the events beside: the file itself states none.
    """
    created = pl.col("event") == "Create"
    places = Places(
        rows.filter(created)
        for events in opened.beside.get("containers", ())
        for rows, _ in frames(events, _CONTAINERS)
    )
    for raw, broken in frames(opened, _CONTAINER_USAGE):
        yield from broken
        made = raw.with_columns(ms("time").alias("time_ms"))
        used = made.select(
            "time_ms", pl.col("container").alias("service"), "container", *_fractions(), "line"
        )
        yield Batch(table="container_usage", rows=places.of(used))
        yield Batch(
            table="container_amount",
            rows=long(made, ["time_ms", "container"], {"disk": _DISK, **_COUNTS}),
        )


def _removals(others: pl.DataFrame, made: pl.DataFrame) -> tuple[pl.DataFrame, list[Broken]]:
    """The Remove events that end a life, and what is none."""
    first = made.group_by("container").agg(pl.col("time_ms").min().alias("arrival"))
    known = others.join(first, on="container", how="left", maintain_order="left")
    rules = [
        Rule(column="event", broken=pl.col("event") != "Remove", expected="Create or Remove"),
        Rule(
            column="container",
            broken=pl.col("arrival").is_null(),
            expected="an instance that was created",
        ),
        Rule(
            column="time_ms",
            broken=pl.col("time_ms") < pl.col("arrival"),
            expected="no time before its creation",
        ),
    ]
    return refuse(known, rules, "container")


def _fractions() -> tuple[pl.Expr, pl.Expr]:
    return (
        (pl.col("cpu") / 100).alias("cpu_fraction"),
        (pl.col("memory") / 100).alias("memory_fraction"),
    )


def _ranges(cpus: pl.Series) -> pl.Series:
    """``32|33|34|40`` as ``32-34,40``; what is no such list stays as it is."""
    return cpus.replace({text: _range(text) for text in cpus.drop_nulls().unique()})


def _range(text: str) -> str:
    try:
        numbers = sorted({int(part) for part in text.split("|") if part})
    except ValueError:
        return text
    return spell_cpu_list(numbers)
