"""The five tables of google19: what tells them apart, their columns, and codes that have names."""

import json
import re
from collections.abc import Iterator

import polars as pl

from tracekit.opened import PARQUET_MAGIC
from tracekit.sources._cluster import Head
from tracekit.sources._objects import Columns
from tracekit.sources._rows import Rule

_LOOKED_AT = 50
_TEXT = pl.String()
_RESOURCES = pl.Struct({"cpus": _TEXT, "memory": _TEXT})
_CONSTRAINT = pl.Struct({"name": _TEXT, "value": _TEXT, "relation": _TEXT})

MACHINES: Columns = {
    **dict.fromkeys(("time", "machine_id", "type", "switch_id", "platform_id"), _TEXT),
    "capacity": _RESOURCES,
}
ATTRIBUTES: Columns = dict.fromkeys(("time", "machine_id", "name", "value", "deleted"), _TEXT)
COLLECTIONS: Columns = dict.fromkeys(
    ("time", "type", "collection_id", "max_per_machine", "max_per_switch"), _TEXT
)
INSTANCES: Columns = {
    **dict.fromkeys(
        (
            *("time", "type", "collection_id", "instance_index", "machine_id", "priority"),
            *("missing_type", "collection_type", "alloc_collection_id", "alloc_instance_index"),
        ),
        _TEXT,
    ),
    "resource_request": _RESOURCES,
    "constraint": pl.List(_CONSTRAINT),
}
USAGE: Columns = {
    **dict.fromkeys(("start_time", "end_time", "collection_id", "instance_index"), _TEXT),
    "average_usage": _RESOURCES,
}

#: Codes by the names that the format gives them.
MACHINE_EVENTS = {"ADD": 1, "REMOVE": 2, "UPDATE": 3}
INSTANCE_EVENTS = {
    name: code
    for code, name in enumerate(
        (
            *("SUBMIT", "QUEUE", "ENABLE", "SCHEDULE", "EVICT", "FAIL", "FINISH", "KILL", "LOST"),
            *("UPDATE_PENDING", "UPDATE_RUNNING"),
        )
    )
}
COLLECTION_TYPES = {"JOB": 0, "ALLOC_SET": 1}
RELATIONS = {
    name: code
    for code, name in enumerate(
        (
            *("EQUAL", "NOT_EQUAL", "LESS_THAN", "GREATER_THAN"),
            *("LESS_THAN_EQUAL", "GREATER_THAN_EQUAL", "PRESENT", "NOT_PRESENT"),
        )
    )
}


def _keys(head: Head) -> set[str]:
    """The fields of the first rows; none where a line is no object."""
    if head.columns:
        return set(head.columns)
    found: set[str] = set()
    for line in head.lines[:_LOOKED_AT]:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        found |= row.keys() if isinstance(row, dict) else set()
    return found


def _is(head: Head, table: str, some: set[str], but: set[str]) -> bool:
    """By the name, for Parquet packed by gzip, whose columns stand at its end; else by fields."""
    if head.start.startswith(PARQUET_MAGIC) and not head.columns:
        return re.fullmatch(rf"{table}-\d{{12}}\.parquet", head.name) is not None
    keys = _keys(head)
    return some <= keys and not but & keys


def is_machines(head: Head) -> bool:
    """Whether a file is of machine_events."""
    return _is(head, "machine_events", {"time", "machine_id", "type"}, {"collection_id", "name"})


def is_attributes(head: Head) -> bool:
    """Whether a file is of machine_attributes."""
    return _is(head, "machine_attributes", {"time", "machine_id", "name"}, {"collection_id"})


def is_collections(head: Head) -> bool:
    """Whether a file is of collection_events."""
    return _is(head, "collection_events", {"time", "type", "collection_id"}, {"instance_index"})


def is_instances(head: Head) -> bool:
    """Whether a file is of instance_events."""
    return _is(
        head,
        "instance_events",
        {"time", "type", "collection_id", "instance_index"},
        {"average_usage"},
    )


def is_usage(head: Head) -> bool:
    """Whether a file is of instance_usage."""
    return _is(head, "instance_usage", {"start_time", "collection_id", "average_usage"}, {"type"})


def code(column: str, names: dict[str, int]) -> pl.Expr:
    """The code that a number or a name stands for; NULL for any other text."""
    number = pl.col(column).cast(pl.Int64, strict=False)
    known = pl.when(number.is_in(list(names.values()))).then(number)
    named = pl.col(column).replace_strict(names, default=None, return_dtype=pl.Int64)
    return pl.coalesce(named, known)


def codes(column: str, names: dict[str, int]) -> Iterator[Rule]:
    """Rules that a text is one of the names or its number."""
    expected = f"one of {', '.join(names)} or its number"
    yield Rule(column=column, broken=code(column, names).is_null(), expected=expected)
