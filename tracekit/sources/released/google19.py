"""Borg cells of 2019: machines with switches, instances, alloc sets, constraints, usage.

Facts: google/cluster-data, clusterdata_trace_format_v3.proto (JSON lines or Parquet).
"""

import json
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources._cluster import Batch, Broken, Opened, Read
from tracekit.sources._lives import Parts, lives
from tracekit.sources._objects import objects
from tracekit.sources._rows import long, refuse
from tracekit.sources.released import _google19_kinds as kinds
from tracekit.sources.released import _google19_machines as machines
from tracekit.sources.released._google import (
    AFTER,
    BEFORE,
    FIRST_MACHINE,
    LABELS,
    OF_ATTRIBUTES,
    SAMPLED,
    backwards,
    in_trace,
    time_ms,
    whole,
)
from tracekit.sources.released._google19_kinds import (
    COLLECTION_TYPES,
    COLLECTIONS,
    INSTANCE_EVENTS,
    INSTANCES,
    RELATIONS,
    USAGE,
    code,
    codes,
)
from tracekit.sources.released._google19_machines import numeric

_STARTS = [INSTANCE_EVENTS[name] for name in ("SUBMIT", "SCHEDULE")]
_ENDS = [INSTANCE_EVENTS[name] for name in ("EVICT", "FAIL", "FINISH", "KILL", "LOST")]
_ASKING = [INSTANCE_EVENTS[name] for name in ("SUBMIT", "UPDATE_PENDING", "UPDATE_RUNNING")]
_SCHEDULE = INSTANCE_EVENTS["SCHEDULE"]
_PER = ("per_machine", "per_switch")
_NO_MACHINE = ("0", "-1")
_NOTHING = ("0", "MISSING_TYPE_NONE")
_IN_ALLOC = pl.col("alloc_collection_id").fill_null("0").is_in(["0", "-1"]).not_()
_CONTAINER = pl.format("{}/{}", "collection_id", "instance_index").alias("container")
#: What Kubernetes calls a relation of a constraint, and what is added to its number.
_OPERATORS: Mapping[int, tuple[str, int]] = {
    0: ("In", 0),
    1: ("NotIn", 0),
    2: ("Lt", 0),
    3: ("Gt", 0),
    4: ("Lt", 1),
    5: ("Gt", -1),
    6: ("Exists", 0),
    7: ("DoesNotExist", 0),
}


def read_collections(opened: Opened) -> Read:
    """The broken rows only: limits per machine and switch are read with the instances."""
    for rows, broken in objects(opened, COLLECTIONS, "container"):
        yield from broken
        yield from refuse(rows, [*whole("collection_id")], "container")[1]


def read_instances(opened: Opened) -> Read:
    """Requests of this file's events; and, of the first file, the lives of all instances."""
    for rows, broken in _instances(opened):
        yield from broken
        missing_type = pl.col("missing_type").fill_null("0").is_in(_NOTHING).not_()
        asked = rows.filter(
            pl.col("type").is_in(_ASKING) | ((pl.col("type") == _SCHEDULE) & missing_type)
        )
        yield from _requests(asked)
    parts = Parts.of(opened, "instances")
    if parts.first:
        selecting = bool(opened.beside.get("attributes"))
        events = (_events(rows, selecting) for part in parts.files for rows, _ in _instances(part))
        limits = _limits(opened.beside.get("collections", ()))
        for life in lives(events):
            yield Batch(table="container", rows=_apart(life, limits).with_row_index("position"))


def _instances(opened: Opened) -> Iterator[tuple[pl.DataFrame, list[Broken]]]:
    rules = [*whole("time", "collection_id", "instance_index"), *codes("type", INSTANCE_EVENTS)]
    for rows, broken in objects(opened, INSTANCES, "container"):
        good, refused = refuse(rows, rules, "container")
        timed = in_trace(good.with_columns(pl.col("time").cast(pl.Float64)))
        yield (
            timed.with_columns(time_ms("time"), _CONTAINER, code("type", INSTANCE_EVENTS)),
            [*broken, *refused],
        )


def _requests(rows: pl.DataFrame) -> Read:
    """Reservations of alloc instances and free tasks; a task in an alloc has none itself."""
    sizes = rows.unnest("resource_request")
    numbers, broken = numeric(sizes, ("cpus", "memory"), "container_resource")
    yield from broken
    units = {"cpus": ("cpu", "fraction", 1.0), "memory": ("memory", "fraction", 1.0)}
    free = long(numbers.filter(~_IN_ALLOC), ("time_ms", "container"), units)
    yield Batch(table="container_resource", rows=free.rename({"amount": "request"}))
    inside = long(numbers.filter(_IN_ALLOC), ("time_ms", "container"), units)
    none = pl.lit(0.0).alias("request")
    yield Batch(
        table="container_resource", rows=inside.rename({"amount": "limit"}).with_columns(none)
    )


def _events(rows: pl.DataFrame, selecting: bool) -> pl.DataFrame:
    alloc = pl.format("{}/{}", "alloc_collection_id", "alloc_instance_index")
    is_alloc = code("collection_type", COLLECTION_TYPES) == 1
    together = pl.when(is_alloc).then(_CONTAINER).when(_IN_ALLOC).then(alloc)
    return rows.select(
        "container",
        "time_ms",
        pl.col("type").is_in(_STARTS).alias("start"),
        pl.col("type").is_in(_ENDS).alias("end"),
        pl.col("collection_id").alias("service"),
        pl.when(~pl.col("machine_id").is_in(_NO_MACHINE)).then("machine_id").alias("node"),
        pl.col("priority").cast(pl.Float64, strict=False),
        together.alias("together"),
        pl.when(is_alloc | _IN_ALLOC).then(pl.lit("node")).alias("together_domain"),
        (_selectors(rows) if selecting else pl.lit(None, dtype=pl.String)).alias("selector"),
        "line",
    )


def _selectors(rows: pl.DataFrame) -> pl.Series:
    """The constraints of each event as a selector; NULL without any."""
    known: dict[str, str | None] = {}
    texts = rows.select(pl.struct("constraint").struct.json_encode()).to_series().to_list()
    for text in dict.fromkeys(texts):
        known[text] = _selector(json.loads(text)["constraint"] or ())
    return pl.Series([known[text] for text in texts], dtype=pl.String)


def _selector(constraints: Sequence[Mapping[str, str | None]]) -> str | None:
    wanted = [_requirement(one) for one in constraints]
    met = [one for one in wanted if one is not None]
    return json.dumps([met]) if met else None


def _requirement(constraint: Mapping[str, str | None]) -> dict[str, object] | None:
    """A constraint as a requirement of a label; None where its numbers are no whole ones."""
    text = constraint["relation"] or "0"
    relation = RELATIONS.get(text, int(text) if text.isdecimal() else -1)
    if relation not in _OPERATORS or not constraint["name"]:
        return None
    operator, more = _OPERATORS[relation]
    value = constraint["value"] or ""
    if operator in {"Lt", "Gt"}:
        if not value.lstrip("-").isdecimal():
            return None
        value = str(int(value) + more)
    found: dict[str, object] = {"key": constraint["name"], "operator": operator}
    return found if operator in {"Exists", "DoesNotExist"} else {**found, "values": [value]}


def _limits(files: Sequence[Opened]) -> pl.DataFrame:
    """The limits of each collection that has some: service, per_machine, per_switch."""
    limits = [pl.col(f"max_{one}").cast(pl.Int64, strict=False).alias(one) for one in _PER]
    schema = {"service": pl.String, **dict.fromkeys(_PER, pl.Int64)}
    found = [
        rows.select(pl.col("collection_id").alias("service"), *limits)
        for one in files
        for rows, _ in objects(one, COLLECTIONS, "container")
    ]
    whole_table = pl.concat([pl.DataFrame(schema=schema), *found])
    return whole_table.group_by("service").agg(pl.col(_PER).max())


def _apart(life: pl.DataFrame, limits: pl.DataFrame) -> pl.DataFrame:
    """The lives with the limit of their collection: per machine or, where it has none, switch."""
    joined = life.join(limits, on="service", how="left", maintain_order="left")
    machine, switch = (pl.col(one) > 0 for one in _PER)
    return joined.with_columns(
        pl.when(machine | switch).then("service").alias("apart"),
        pl.when(machine)
        .then(pl.lit("node"))
        .when(switch)
        .then(pl.lit("rack"))
        .alias("apart_domain"),
        pl.when(machine).then("per_machine").when(switch).then("per_switch").alias("apart_most"),
    ).drop(_PER)


def read_usage(opened: Opened) -> Read:
    """Mean CPU and memory of each sample."""
    for rows, broken in objects(opened, USAGE, "container_amount"):
        yield from broken
        rules = [
            *whole("start_time", "collection_id", "instance_index"),
            backwards("start_time", "end_time"),
        ]
        good, refused = refuse(rows, rules, "container_amount")
        yield from refused
        timed = in_trace(good.with_columns(pl.col("start_time").cast(pl.Float64)), "start_time")
        samples = timed.with_columns(time_ms("start_time"), _CONTAINER).unnest("average_usage")
        numbers, wrong = numeric(samples, ("cpus", "memory"), "container_amount")
        yield from wrong
        units = {"cpus": ("cpu", "fraction", 1.0), "memory": ("memory", "fraction", 1.0)}
        yield Batch(table="container_amount", rows=long(numbers, ("time_ms", "container"), units))


SOURCE = ClusterSource(
    name="google19",
    title="Google cluster data 2019 (version 3): eight cells, May 2019, instances and usage",
    url="https://github.com/google/cluster-data/blob/master/ClusterData2019.md",
    missing_names=frozenset({""}),
    licence="CC-BY-4.0",
    files=(
        ClusterFile(
            word="machines",
            title="machines that come, go and change (machine_events)",
            tables=("node", "node_resource"),
            recognises=kinds.is_machines,
            read=machines.read_machines,
        ),
        ClusterFile(
            word="attributes",
            title=OF_ATTRIBUTES,
            tables=("node",),
            recognises=kinds.is_attributes,
            read=machines.read_attributes,
        ),
        ClusterFile(
            word="collections",
            title="events of jobs and alloc sets, whose limits per machine the instances take",
            tables=("container",),
            recognises=kinds.is_collections,
            read=read_collections,
        ),
        ClusterFile(
            word="instances",
            title="events of tasks and alloc instances",
            tables=("container", "container_resource"),
            recognises=kinds.is_instances,
            read=read_instances,
        ),
        ClusterFile(
            word="usage",
            title="usage of instances over 300 s",
            tables=("container_amount",),
            recognises=kinds.is_usage,
            read=read_usage,
        ),
    ),
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
)
