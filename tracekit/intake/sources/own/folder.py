"""A folder of tables from a user's own monitoring, as Parquet or CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial

import polars as pl

from tracekit.base.units import UNIT_OF
from tracekit.intake.sources._columns import named_frames, spelled
from tracekit.intake.sources._rows import refuse, undated
from tracekit.intake.sources._source import (
    Batch,
    Broken,
    ClusterFile,
    ClusterSource,
    Head,
    Opened,
    Read,
)
from tracekit.intake.sources.own._folder_lists import (
    in_form,
    listed_containers,
    listed_nodes,
    listed_places,
    lives_beside,
    timed,
    valid_containers,
    valid_nodes,
)
from tracekit.intake.sources.own._folder_rules import (
    LABEL,
    LIMIT,
    LIVES,
    Measure,
    Measured,
    check_units,
    columns_of,
    further,
    unknown,
    with_amounts,
    with_lives,
)
from tracekit.intake.sources.own._folder_units import (
    check_arrivals,
    check_node_sizes,
    check_requests,
    check_steps,
    sizes_of_nodes,
)
from tracekit.intake.sources.own._impossible_use import MILLICORES, possible
from tracekit.store.tables import Table, all_tables

NODES = ("node", "cpu_milli", "memory_bytes")
CONTAINERS = ("container", "arrival_ms", "cpu_milli", "memory_bytes")
USAGE = ("container", "time_ms", "cpu_milli")
BACKGROUND = ("node", "time_ms", "cpu_milli")
CALLS = ("upstream", "downstream", "calls")

_KEYS = ("time_ms", "line")


def read_nodes(opened: Opened) -> Read:
    """Yield the rows of the nodes and their resources; other columns of texts become labels."""
    columns = columns_of("node")
    for frame, broken in named_frames(opened, "node", needed=NODES):
        yield from broken
        check_node_sizes(opened.name, frame)
        valid, wrong = valid_nodes(frame, "node")
        yield from wrong
        measures, labels = further(valid, columns)
        check_units(opened, measures)
        valid, wrong = with_amounts(valid, _columns(measures), "node_resource")
        yield from wrong
        at = timed(valid)
        rows = at.select(*(one for one in at.columns if one in columns), *labels, "line")
        whole = _with_labels(rows, labels) if labels else rows
        sized = _long(at, ("node", *_KEYS), measures)
        yield Batch(table="node", rows=whole, original=frame)
        yield Batch(table="node_resource", rows=sized, original=frame)


def read_containers(opened: Opened) -> Read:
    """Yield the rows of the containers, in file order, and of their requests and limits."""
    columns = columns_of("container") | {"arrival_ms"}
    check_requests(opened)
    nodes = listed_nodes(opened)
    for frame, broken in named_frames(opened, "container", needed=CONTAINERS):
        yield from broken
        check_arrivals(opened.name, frame)
        check_units(opened, further(frame, columns)[0])
        valid, wrong = valid_containers(frame, nodes)
        yield from wrong
        yield from _batches(valid, columns)


def _batches(valid: pl.DataFrame, columns: set[str]) -> list[Batch]:
    """The batches of containers, in the order of the file, and of their requests and limits."""
    rows = valid.with_columns(pl.col("arrival_ms").alias("time_ms"))
    if "position" not in rows.columns:
        rows = rows.with_columns(pl.col("line").alias("position"))
    if "daemon" in rows.columns and rows.schema["daemon"] == pl.Boolean:
        rows = rows.with_columns(pl.col("daemon").cast(pl.Int8))
    own = [name for name in rows.columns if name in columns and name != "arrival_ms"]
    return [
        Batch(table="container", rows=rows.select(*own, "line"), original=valid),
        Batch(table="container_resource", rows=_requests(rows, columns), original=valid),
    ]


def read_usage(opened: Opened) -> Read:
    """Yield the rows of the containers' use, one for each resource.

    Raises
    ------
    TracekitError
        For use in a wrong unit, which no node could provide, and for times that are not in ms.
    """
    places = listed_places(opened)
    yield from possible(_usage(opened), opened.name, sizes_of_nodes(opened), MILLICORES, places)


def _usage(opened: Opened) -> Read:
    containers, lives = listed_containers(opened), lives_beside(opened)
    for frame, broken in named_frames(opened, "container_amount", needed=USAGE):
        yield from broken
        check_steps(opened.name, frame, "container")
        living, within = with_lives(frame, lives)
        dated = undated(frame, ("time_ms",))
        rules = [*unknown(frame, "container", containers), *dated, *within]
        valid, wrong = refuse(living, rules, "container_amount")
        yield from wrong
        valid = valid.drop(LIVES)
        measures, _ = further(valid, {"container", "time_ms"})
        check_units(opened, measures)
        valid, wrong = with_amounts(valid, _columns(measures), "container_amount")
        yield from wrong
        rows = _long(valid, ("container", *_KEYS), measures)
        # a line without amounts counts as read
        yield Batch(table="container_amount", rows=rows, lines=valid["line"], original=frame)


def read_background(opened: Opened) -> Read:
    """Yield the use of nodes besides their containers; ``cpu`` becomes ``background_cpu``."""
    nodes = listed_nodes(opened)
    for frame, broken in named_frames(opened, "node_amount", needed=BACKGROUND):
        yield from broken
        check_steps(opened.name, frame, "node")
        rules = [*unknown(frame, "node", nodes), *undated(frame, ("time_ms",))]
        valid, wrong = refuse(frame, rules, "node_amount")
        yield from wrong
        measures, _ = further(valid, {"node", "time_ms"})
        valid, wrong = with_amounts(valid, _columns(measures), "node_amount")
        yield from wrong
        rows = _long(valid, ("node", *_KEYS), measures)
        named = pl.concat_str(pl.lit("background_"), "resource").alias("resource")
        named_rows = rows.with_columns(named)
        yield Batch(table="node_amount", rows=named_rows, lines=valid["line"], original=frame)


def read_calls(opened: Opened) -> Read:
    """Yield the rows of calls between services; a file without times gets time 0."""
    for frame, broken in named_frames(opened, "service_calls", needed=CALLS):
        yield from broken
        rows = timed(frame).select("time_ms", *CALLS, "line")
        yield Batch(table="service_calls", rows=rows, original=frame)


def _columns(measures: Sequence[Measure]) -> list[str]:
    return [one.column for one in measures]


def _amount(frame: pl.DataFrame, measure: Measure) -> pl.Series:
    """The amounts of a column in its unit; a column with other texts stays a column of texts."""
    values = frame[measure.column]
    numbers = values.cast(pl.Float64, strict=False)
    # numpy divides exactly, polars multiplies with the inverse
    divided = pl.Series(numbers.fill_null(0.0).to_numpy() / measure.per_unit)
    amounts = divided.zip_with(numbers.is_not_null(), pl.Series([None], dtype=pl.Float64))
    if (numbers.is_null() & values.is_not_null()).any():
        return amounts.cast(pl.String).zip_with(numbers.is_not_null(), values.cast(pl.String))
    return amounts


def _long(frame: pl.DataFrame, keys: Sequence[str], measures: Sequence[Measure]) -> pl.DataFrame:
    """A row for each amount, with resource, amount and unit beside the keys."""
    parts = []
    for measure in measures:
        rows = frame.select(*keys, _amount(frame, measure).alias("amount"))
        named = rows.with_columns(
            pl.lit(measure.resource).alias("resource"), pl.lit(measure.unit).alias("unit")
        )
        parts.append(named.filter(pl.col("amount").is_not_null()))
    whole = pl.concat(parts, how="vertical_relaxed") if parts else frame.select(*keys).clear()
    return whole.sort("line", maintain_order=True)


def _requests(frame: pl.DataFrame, others: set[str]) -> pl.DataFrame:
    """A row for each resource with its request and limit, as of ``gpu`` and ``gpu_limit``."""
    measures, _ = further(frame, others)
    limits = {m.resource.removesuffix(LIMIT): m for m in measures if m.resource.endswith(LIMIT)}
    requests = {m.resource: m for m in measures if not m.resource.endswith(LIMIT)}
    parts = []
    for resource in dict.fromkeys([*requests, *limits]):
        stated = {"request": requests.get(resource), "limit": limits.get(resource)}
        unit = _unit(resource, next(m for m in stated.values() if m is not None))
        rows = frame.select("container", *_KEYS).with_columns(
            pl.lit(resource).alias("resource"),
            *(
                (_amount(frame, m) if m is not None else pl.lit(None, pl.Float64)).alias(name)
                for name, m in stated.items()
            ),
            pl.lit(unit).alias("unit"),
        )
        parts.append(rows.filter(pl.any_horizontal(pl.col("request", "limit").is_not_null())))
    return pl.concat(parts, how="vertical_relaxed").sort("line", maintain_order=True)


def _unit(resource: str, measure: Measure) -> str:
    """The unit of a resource: ``cpu_limit`` is in cores, as ``cpu`` is."""
    return UNIT_OF.get(resource, measure.unit) if measure.unit == "count" else measure.unit


def _with_labels(rows: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Move the columns of labels into the JSON object of column ``labels``."""
    written: list[str | None] = []
    for row in rows.select(*labels, pl.col("^labels$")).iter_rows(named=True):
        own = {name.removeprefix(LABEL): str(row[name]) for name in labels if row[name] is not None}
        written.append(_merged(row.get("labels"), own))
    return rows.drop(labels).with_columns(pl.Series("labels", written, dtype=pl.String))


def _merged(stated: str | None, own: dict[str, str]) -> str | None:
    """Merge two sets of labels; a text that is no JSON object becomes a label."""
    document: object = {}
    if stated is not None:
        try:
            document = json.loads(stated)
        except (ValueError, RecursionError):
            document = None
    whole = document if isinstance(document, dict) else {"labels": stated}
    return json.dumps({**whole, **own}) if whole or own else None


#: The end of a file's name: usage.csv, usage_3.parquet, usage-2026-01-31.csv, usage.part-0.parquet
_ENDING = r"(?:[-_.]?(?:part)?[-_.]?\d[-\w]*)?\.(?:csv|parquet)"


def _is(stem: str, needed: tuple[str, ...]) -> Callable[[Head], bool]:
    lacks = _lacks(stem, needed)
    return lambda head: lacks(head) == ()


def _lacks(stem: str, needed: tuple[str, ...]) -> Callable[[Head], tuple[str, ...] | None]:
    """A function that returns the missing columns of a file; None for a file of another name."""
    pattern = re.compile(re.escape(stem) + _ENDING)

    def lacks(head: Head) -> tuple[str, ...] | None:
        if not pattern.fullmatch(head.name):
            return None
        fields = head.fields()
        present = {*fields, *spelled(fields, set(needed)).values()}
        return tuple(name for name in needed if name not in present)

    return lacks


#: The tables of requests, which name containers but list none.
_REQUESTS = ("container_resource", "fixed_request")


def read_table(table: Table, needed: Sequence[str], opened: Opened) -> Read:
    """Yield the valid rows of a table of the store, in the units of the store."""
    states = table.entity and table.key and not table.step
    measured = Measured(opened, table.name)
    listed = listed_containers(opened) if table.name in _REQUESTS else None
    places = listed_places(opened) if table.name == "container_usage" else None
    columns = {column.name for column in table.columns}
    for frame, broken in named_frames(opened, table.name, needed=needed):
        yield from broken
        if table.step and table.entity:
            check_steps(opened.name, frame, table.entity)
        rows, wrong = _in_form(frame, table) if states else (frame, [])
        yield from wrong
        rows, wrong = measured.converted_and_rejected(rows)
        yield from wrong
        rows, wrong = refuse(rows, unknown(rows, "container", listed), table.name)
        yield from wrong
        rows = rows if places is None else places.of(rows)
        rows = timed(rows) if states and table.entity == "node" else rows
        own = [name for name in rows.columns if name in columns or name == "line"]
        yield Batch(table=table.name, rows=rows.select(own), original=rows)


def _in_form(frame: pl.DataFrame, table: Table) -> tuple[pl.DataFrame, list[Broken]]:
    if table.entity == "node":
        return valid_nodes(frame, table.name)
    return refuse(frame, in_form(frame, table.name), table.name)


def _table_file(table: Table) -> ClusterFile:
    """The kind of file with the columns of a table of the store."""
    needed = tuple(column.name for column in table.columns if column.required)
    if table.entity == "node" and not table.step:
        # a row about a node without a time holds from time 0 on
        needed = tuple(name for name in needed if name != "time_ms")

    return ClusterFile(
        word=table.name,
        title=f"the store's own table {table.name}",
        tables=(table.name,),
        recognises=_is(table.name, needed),
        lacks=_lacks(table.name, needed),
        read=partial(read_table, table, needed),
    )


_OWN_WORDS = (
    ClusterFile(
        word="nodes",
        title="nodes and what they have",
        tables=("node", "node_resource"),
        recognises=_is("nodes", NODES),
        lacks=_lacks("nodes", NODES),
        read=read_nodes,
    ),
    ClusterFile(
        word="containers",
        title="containers, their lives and requests",
        tables=("container", "container_resource"),
        recognises=_is("containers", CONTAINERS),
        lacks=_lacks("containers", CONTAINERS),
        read=read_containers,
    ),
    ClusterFile(
        word="usage",
        title="what containers use",
        tables=("container_amount",),
        recognises=_is("usage", USAGE),
        lacks=_lacks("usage", USAGE),
        read=read_usage,
    ),
    ClusterFile(
        word="background",
        title="what runs on nodes beside the containers",
        tables=("node_amount",),
        recognises=_is("background", BACKGROUND),
        lacks=_lacks("background", BACKGROUND),
        read=read_background,
    ),
    ClusterFile(
        word="calls",
        title="numbers of calls between services",
        tables=("service_calls",),
        recognises=_is("calls", CALLS),
        lacks=_lacks("calls", CALLS),
        read=read_calls,
    ),
)

FOLDER = ClusterSource(
    name="folder",
    title="Your own tables of nodes, containers and usage, as Parquet or CSV",
    url="https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
    licence="your own",
    files=(*_OWN_WORDS, *(_table_file(table) for table in all_tables().values())),
    lacks=("what you leave out: every optional column and file",),
    inferred=(
        "a column's unit, from the end of its name: _milli, _bytes, _bytes_per_s, _kbit_per_s",
    ),
    notes=(
        "times are ms, of any beginning: since the start, or since 1970",
        "background.* is kept as the resources background_cpu and background_memory of its node",
    ),
)
