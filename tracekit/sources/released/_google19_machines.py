"""Reads the machines of google19 and their attributes."""

from collections.abc import Iterator

import polars as pl

from tracekit.sources._cluster import Batch, Broken, Opened, Read
from tracekit.sources._objects import objects
from tracekit.sources._rows import long, missing, refuse
from tracekit.sources.released._google import (
    check_beside_machines,
    in_trace,
    labelled,
    time_ms,
    whole,
)
from tracekit.sources.released._google19_kinds import (
    ATTRIBUTES,
    MACHINE_EVENTS,
    MACHINES,
    code,
    codes,
)

_REMOVE = 2
_TRUE = ("true", "True", "1")


def read_machines(opened: Opened) -> Read:
    """States and sizes of machines, with the labels that the attributes beside it say."""
    attributes = [rows for one in opened.beside.get("attributes", ()) for rows, _ in _named(one)]
    for rows, broken in objects(opened, MACHINES, "node"):
        yield from broken
        rules = [*whole("time", "machine_id"), *codes("type", MACHINE_EVENTS)]
        good, refused = refuse(rows, rules, "node")
        yield from refused
        events = _in_trace(good).with_columns(
            pl.col("machine_id").alias("node"), code("type", MACHINE_EVENTS)
        )
        gone = pl.col("type") == _REMOVE
        states = events.select(
            "time_ms",
            "node",
            pl.when(gone).then(pl.lit("gone")).otherwise(pl.lit("ready")).alias("state"),
            pl.col("switch_id").alias("rack"),
            pl.col("platform_id").alias("platform"),
            (pl.col("line") - 1).alias("position"),
            "line",
        )
        yield Batch(table="node", rows=labelled(states, attributes))
        sized = events.filter(~gone).unnest("capacity")
        yield from _sizes(sized)


def _sizes(events: pl.DataFrame) -> Read:
    numbers, broken = numeric(events, ("cpus", "memory"), "node_resource")
    yield from broken
    units = {"cpus": ("cpu", "fraction", 1.0), "memory": ("memory", "fraction", 1.0)}
    yield Batch(table="node_resource", rows=long(numbers, ("time_ms", "node"), units))


def numeric(
    rows: pl.DataFrame, columns: tuple[str, ...], table: str
) -> tuple[pl.DataFrame, list[Broken]]:
    """The rows with some texts as numbers; rows where one is none are apart."""
    casts = {one: pl.col(one).cast(pl.Float64, strict=False) for one in columns}
    broken: list[Broken] = []
    for one, cast in casts.items():
        for line, text in (
            rows.filter(pl.col(one).is_not_null() & cast.is_null()).select("line", one).iter_rows()
        ):
            reason = f"is '{text[:60]}', expected a number"
            broken.append(Broken(table=table, line=line, column=one, reason=reason, text=text))
    wrong = {one.line for one in broken}
    good = rows.filter(~pl.col("line").is_in(sorted(wrong))) if wrong else rows
    return good.with_columns(**casts), sorted(broken, key=lambda one: one.line)


def _in_trace(rows: pl.DataFrame) -> pl.DataFrame:
    return in_trace(rows.with_columns(pl.col("time").cast(pl.Float64))).with_columns(
        time_ms("time")
    )


def _named(opened: Opened) -> Iterator[tuple[pl.DataFrame, list[Broken]]]:
    """Attributes of an attribute file: node, time_ms, name, value (NULL: deleted)."""
    for rows, broken in objects(opened, ATTRIBUTES, "node"):
        good, refused = refuse(rows, [*whole("time", "machine_id"), *missing("name")], "node")
        deleted = pl.col("deleted").is_in(_TRUE).fill_null(value=False)
        yield (
            _in_trace(good).select(
                pl.col("machine_id").alias("node"),
                "time_ms",
                "name",
                pl.when(~deleted).then(pl.col("value").fill_null("")).alias("value"),
            ),
            [*broken, *refused],
        )


def read_attributes(opened: Opened) -> Read:
    """The broken rows only: the others are labels of the machines of ``machine_events``."""
    check_beside_machines(opened)
    for _, broken in _named(opened):
        yield from broken
