"""Readers of the six tables of the Alibaba trace of 2018."""

import polars as pl

from tracekit.sources._cluster import Batch, Opened, Read
from tracekit.sources._rows import Delimited, frames, long
from tracekit.sources.released._alibaba_batch import BatchForm
from tracekit.sources.released._lines import changes, ms, whole

#: What stands where upstream found a value to be abnormal.
_ABNORMAL = [-1.0, 101.0]
_MEASURED = ("cpi", "memory_bandwidth", "mpki", "net_in", "net_out", "disk_io")
#: Percentages become fractions of the whole that upstream normalised by.
_AMOUNTS = {
    "cpi": ("cpi", "count", 1.0),
    "memory_bandwidth": ("memory_bandwidth", "fraction", 0.01),
    "mpki": ("mpki", "count", 1.0),
    "net_in": ("net_in", "fraction", 0.01),
    "net_out": ("net_out", "fraction", 0.01),
    "disk_io": ("disk_io", "fraction", 0.01),
}

_MACHINES = Delimited(
    columns=("node", "time", "domain", "zone", "cpu", "memory", "status"),
    numbers=("time", "cpu", "memory"),
    table="node",
)
_MACHINE_USAGE = Delimited(
    columns=("node", "time", "cpu", "memory", *_MEASURED[1:]),
    numbers=("time", "cpu", "memory", *_MEASURED[1:]),
    table="node_usage",
)
_CONTAINERS = Delimited(
    columns=("container", "node", "time", "service", "status", "request", "limit", "memory"),
    numbers=("time", "request", "limit", "memory"),
    table="container",
)
_CONTAINER_USAGE = Delimited(
    columns=("container", "node", "time", "cpu", "memory", *_MEASURED),
    numbers=("time", "cpu", "memory", *_MEASURED),
    table="container_usage",
)
BATCH = BatchForm(
    tasks=Delimited(
        columns=(
            "task", "instances", "job", "", "status", "start", "end", "cpu", "memory",
        ),
        numbers=("instances", "start", "end", "cpu", "memory"),
        table="container",
    ),
    instances=Delimited(
        columns=(
            "name", "task", "job", "", "status", "start", "end", "node", "try", "",
            "cpu", "", "memory", "",
        ),
        numbers=("start", "end", "try", "cpu", "memory"),
        table="container",
    ),
    asked={"cpu": ("cpu", "cores", 0.01), "memory": ("memory", "fraction", 0.01)},
    used={"cpu": ("cpu", "cores", 0.01), "memory": ("memory", "fraction", 0.01)},
)  # fmt: skip


def read_machine_meta(opened: Opened) -> Read:
    """Nodes: a row where something has changed."""
    raw, broken = whole(opened, _MACHINES)
    yield from broken
    made = raw.sort("node", "time", "line").with_columns(
        ms("time").alias("time_ms"),
        pl.col("zone").forward_fill().over("node"),
        pl.when(pl.col("status") == "USING")
        .then(pl.lit("ready"))
        .otherwise(pl.lit("closed"))
        .alias("state"),
        _normal("memory"),
        pl.col("line").min().over("node").alias("position"),
    )
    kept = ["state", "domain", "zone"]
    nodes = changes(made, "node", "time_ms", kept)
    yield Batch(table="node", rows=nodes.select("time_ms", "node", "position", *kept, "line"))
    sizes = changes(made, "node", "time_ms", ["cpu", "memory"])
    yield Batch(
        table="node_resource",
        rows=long(
            sizes,
            ["time_ms", "node"],
            {"cpu": ("cpu", "cores", 1.0), "memory": ("memory", "fraction", 0.01)},
        ),
    )


def read_machine_usage(opened: Opened) -> Read:
    """Fractions of machines, and what else was measured."""
    for raw, broken in frames(opened, _MACHINE_USAGE):
        yield from broken
        made = raw.with_columns(
            ms("time").alias("time_ms"),
            *(_normal(name) for name in ("cpu", "memory", "memory_bandwidth", *_MEASURED[3:])),
        )
        yield Batch(
            table="node_usage",
            rows=made.select(
                "time_ms",
                "node",
                (pl.col("cpu") / 100).alias("cpu_fraction"),
                (pl.col("memory") / 100).alias("memory_fraction"),
                "line",
            ),
        )
        amounts = {name: _AMOUNTS[name] for name in _MEASURED[1:]}
        yield Batch(table="node_amount", rows=long(made, ["time_ms", "node"], amounts))


def read_container_meta(opened: Opened) -> Read:
    """Containers from their events: the first brings one, the last may end it."""
    raw, broken = whole(opened, _CONTAINERS)
    yield from broken
    events = raw.with_columns(ms("time").alias("time_ms"), _normal("memory"))
    unnamed = events.filter(pl.col("container").is_null() | pl.col("time_ms").is_null())
    lives = (
        events.drop_nulls(["container", "time_ms"])
        .sort("time_ms", "line")
        .group_by("container", maintain_order=True)
        .agg(
            pl.col("line").first(),
            pl.col("line").min().alias("position"),
            pl.col("time_ms", "service", "node").first(),
            # the first of the last rows that say stopped
            pl.col("time_ms").filter(_ended()).first().alias("departure_ms"),
        )
    )
    wanted = ["time_ms", "container", "service", "node", "position", "departure_ms", "line"]
    yield Batch(table="container", rows=lives.sort("position").select(wanted))
    yield Batch(
        table="container", rows=unnamed.select("time_ms", "container", "service", "node", "line")
    )
    yield Batch(table="container_resource", rows=_requests(events))


def read_container_usage(opened: Opened) -> Read:
    """Fractions of requests, and what else was measured."""
    for raw, broken in frames(opened, _CONTAINER_USAGE):
        yield from broken
        made = raw.with_columns(
            ms("time").alias("time_ms"),
            *(_normal(name) for name in ("memory", "memory_bandwidth", *_MEASURED[3:])),
        )
        yield Batch(
            table="container_usage",
            rows=made.select(
                "time_ms",
                "container",
                "node",
                (pl.col("cpu") / 100).alias("cpu_fraction"),
                (pl.col("memory") / 100).alias("memory_fraction"),
                "line",
            ),
        )
        known = made.filter(pl.col("container").is_not_null())
        yield Batch(table="container_amount", rows=long(known, ["time_ms", "container"], _AMOUNTS))


def _requests(events: pl.DataFrame) -> pl.DataFrame:
    """Requests and limits of containers, a row where they change."""
    known = events.drop_nulls(["container", "time_ms"])
    changed = changes(known, "container", "time_ms", ["request", "limit", "memory"])
    cpu = changed.select(
        "time_ms",
        "container",
        pl.lit("cpu").alias("resource"),
        (pl.col("request") / 100).alias("request"),
        (pl.col("limit") / 100).alias("limit"),
        pl.lit("cores").alias("unit"),
        "line",
    )
    memory = changed.select(
        "time_ms",
        "container",
        pl.lit("memory").alias("resource"),
        (pl.col("memory") / 100).alias("request"),
        pl.lit(None, pl.Float64).alias("limit"),
        pl.lit("fraction").alias("unit"),
        "line",
    )
    asked = pl.concat([cpu, memory]).filter(
        pl.col("request").is_not_null() | pl.col("limit").is_not_null()
    )
    return asked.sort("line", maintain_order=True)


def _ended() -> pl.Expr:
    """Rows that say stopped, and that no row follows which says otherwise."""
    return (pl.col("status") == "stopped").fill_null(value=False).cum_min(reverse=True)


def _normal(column: str) -> pl.Expr:
    """Without the two numbers that stand for an abnormal value."""
    found = pl.col(column)
    return pl.when(~found.is_in(_ABNORMAL)).then(found).alias(column)
