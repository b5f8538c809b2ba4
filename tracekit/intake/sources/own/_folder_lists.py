"""The valid rows of nodes and containers of a folder, and the ids that other files may name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import polars as pl

from tracekit.intake.sources._columns import named_frames
from tracekit.intake.sources._rows import Places, Rule, emptied, refuse, undated
from tracekit.intake.sources._source import Broken, Opened
from tracekit.intake.sources.own._folder_rules import (
    LIVES,
    Listed,
    amount_rules,
    columns_of,
    ended_early,
    further,
    number_rules,
    unknown,
    with_stored,
)
from tracekit.store.tables import all_tables


class _Requirement(msgspec.Struct):
    """A requirement of a selector; a replay checks its other members."""

    key: str


_LIST = "a JSON list"
_REQUIREMENTS = 'requirements, as [[{"key":"shape","operator":"In","values":["t"]}]]'
#: Columns that hold JSON, by table: the type of each, and the type in words.
_DOCUMENTS: Mapping[str, Mapping[str, tuple[Any, str]]] = {
    "container": {
        "labels": (dict, "a JSON object"),
        "rules": (list, _LIST),
        "selector": (
            list[list[_Requirement]],
            f"{_LIST} of alternatives, each a list of {_REQUIREMENTS}",
        ),
        "tolerations": (list, _LIST),
    },
    "node": {"taints": (list, _LIST)},
}


def in_form(frame: pl.DataFrame, table: str) -> list[Rule]:
    """Return rules: numbers must be within their bounds, and JSON of the type of its column."""
    return [*_numbers(frame, table), *_documents(frame, table)]


def without_wrong_numbers(frame: pl.DataFrame, table: str) -> tuple[pl.DataFrame, list[Broken]]:
    """Set wrong optional numbers to NULL; return all rows, and a reject for each changed row."""
    may_lack = {column.name for column in all_tables()[table].columns if not column.required}
    rules = [
        replace(one, expected=f"{one.expected}; the row is kept without it")
        for one in _numbers(frame, table)
        if one.column in may_lack
    ]
    return emptied(frame, rules, table)


def _numbers(frame: pl.DataFrame, table: str) -> list[Rule]:
    rules = []
    for column in all_tables()[table].columns:
        if column.kind != "number" or column.name not in frame.columns:
            continue
        value = pl.col(column.name).cast(pl.Float64, strict=False)
        broken = value.is_null() | ~value.is_finite()
        expected = "a number"
        if column.minimum is not None:
            broken |= value < column.minimum
            expected = f"a number, {column.minimum:g} or more"
        broken &= pl.col(column.name).is_not_null()
        rules.append(Rule(column=column.name, broken=broken, expected=expected))
    return rules


def _documents(frame: pl.DataFrame, table: str) -> list[Rule]:
    rules = []
    for name, (kind, in_words) in _DOCUMENTS.get(table, {}).items():
        if name in frame.columns and frame.schema[name] == pl.String:
            texts = frame[name].drop_nulls().unique()
            wrong = pl.Series([one for one in texts if not _is(one, kind)], dtype=pl.String)
            broken = pl.col(name).is_in(wrong.implode())
            rules.append(Rule(column=name, broken=broken, expected=in_words))
    return rules


def _is(text: str, kind: Any) -> bool:
    """Whether a text is empty, or JSON of that type."""
    try:
        return not text.strip() or msgspec.json.decode(text, type=kind) is not None
    except (ValueError, RecursionError):
        return False


#: The kinds of files that list containers, each with its column of arrivals.
_LISTING = {"containers": "arrival_ms", "container": "time_ms"}


def valid_containers(
    frame: pl.DataFrame, nodes: Listed | None
) -> tuple[pl.DataFrame, list[Broken]]:
    """Return the valid rows of the file ``containers``, and a reject for each other row."""
    rules = undated(frame, ("arrival_ms", "departure_ms"))
    rules += number_rules(frame, ("arrival_ms", "departure_ms", "cpu_milli", "memory_bytes"))
    rules += [*unknown(frame, "node", nodes), *ended_early(frame)]
    amounts = further(frame, columns_of("container") | {"arrival_ms"})[0]
    rules += [*amount_rules([one.column for one in amounts]), *in_form(frame, "container")]
    return refuse(frame, rules, "container")


def listed_containers(opened: Opened) -> Listed | None:
    """Return the containers with a valid row in the store or in a file of this ingest.

    None if neither has a list of containers. For a file that was ingested before, the containers in
    the store count instead.
    """
    named: dict[str, list[pl.Series]] = {}
    stay = []
    taken = _taken(opened)
    valid = partial(valid_containers, nodes=listed_nodes(opened))
    for file, word, frame in _lists(opened):
        named.setdefault(file.name, []).append(_ids(frame))
        if str(file.path) not in taken:
            rows = valid(frame)[0] if word == "containers" else _in_form(frame)
            stay.append(_ids(_timed(rows, _LISTING[word])))
    listed = any(opened.beside.get(word) for word in _LISTING)
    every = with_stored(opened, _together(stay) if listed else None, "container")
    if every is None:
        return None
    rejected = {name: _together(some) for name, some in named.items()}
    return Listed(every.ids, every.owner, rejected)


def _lists(opened: Opened) -> Iterator[tuple[Opened, str, pl.DataFrame]]:
    """Yield each file beside with a list of containers, its kind, and its rows."""
    for word in _LISTING:
        for file in opened.beside.get(word, ()):
            for frame, _ in named_frames(file, "container"):
                if "container" in frame.columns:
                    yield file, word, frame


def _taken(opened: Opened) -> frozenset[str]:
    """The paths of the lists of containers that the store has."""
    path = opened.stored.get("containers_taken")
    return frozenset() if path is None else frozenset(json.loads(path.read_text("utf-8")))


def _in_form(frame: pl.DataFrame) -> pl.DataFrame:
    return refuse(frame, in_form(frame, "container"), "container")[0]


def _timed(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """The rows with an arrival; a row without one is not stored."""
    if column not in frame.columns:
        return frame.clear()
    return frame.filter(pl.col(column).cast(pl.Float64, strict=False).is_not_null())


def _ids(frame: pl.DataFrame) -> pl.Series:
    return frame.select(pl.col("container").cast(pl.String).alias("id"))["id"].unique()


def _together(parts: list[pl.Series]) -> pl.Series:
    return pl.concat(parts).unique() if parts else pl.Series("id", [], dtype=pl.String)


#: The base table of each kind of file about nodes.
_FORMS: Mapping[str, str] = {"nodes": "node", "node": "node", "node_resource": "node_resource"}


def valid_nodes(frame: pl.DataFrame, table: str) -> tuple[pl.DataFrame, list[Broken]]:
    """Return the valid rows of a file about nodes, and the rejects.

    A row with a wrong optional number, such as a price, stays without it and becomes a reject as
    well.
    """
    numbered, every = without_wrong_numbers(frame, table)
    rules = [*undated(numbered, ("time_ms",)), *in_form(numbered, table)]
    valid, wrong = refuse(numbered, rules, table)
    return valid, sorted([*every, *wrong], key=lambda one: one.line)


def timed(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with ``time_ms``; it is 0 for all rows if the file has no such column."""
    return (
        frame
        if "time_ms" in frame.columns
        else frame.with_columns(pl.lit(0, dtype=pl.Int64).alias("time_ms"))
    )


def listed_nodes(opened: Opened) -> Listed | None:
    """Return the nodes with a valid row in the store or a file of this ingest; None if no list."""
    return with_stored(opened, _nodes_beside(opened), "node")


def _nodes_beside(opened: Opened) -> pl.Series | None:
    """The valid nodes of the files beside this one; None without a file about nodes."""
    files = [(file, form) for word, form in _FORMS.items() for file in opened.beside.get(word, ())]
    if not files:
        return None
    parts = [
        _node_ids(valid_nodes(frame, form)[0])
        for file, form in files
        for frame, _ in named_frames(file, form)
        if "node" in frame.columns
    ]
    return pl.concat(parts).unique() if parts else pl.Series("node", [], dtype=pl.String)


def listed_places(opened: Opened) -> Places:
    """Return the node of each container that the store or a file of this ingest lists."""
    nodes = listed_nodes(opened)
    stored = [opened.stored["container"]] if "container" in opened.stored else []
    return Places(
        [
            *(pl.read_parquet(path, columns=["container", "node"]) for path in stored),
            *(
                refuse(frame, unknown(frame, "node", nodes), "container")[0]
                for word in ("containers", "container")
                for file in opened.beside.get(word, ())
                for frame, _ in named_frames(file, "container")
            ),
        ]
    )


def _node_ids(frame: pl.DataFrame) -> pl.Series:
    """The nodes of rows with a readable time, or without times."""
    if frame.schema.get("time_ms") == pl.String:
        frame = frame.filter(pl.col("time_ms").cast(pl.Float64, strict=False).is_not_null())
    return frame.select(pl.col("node").cast(pl.String))["node"].unique()


def lives_beside(opened: Opened) -> pl.DataFrame | None:
    """Return the first arrival and the last departure of each container in ms; None without a list.

    They come from the files ``containers`` of this ingest, in the columns ``container`` and
    ``LIVES``. The departure is infinite if it is not stated.
    """
    parts = []
    for file in opened.beside.get("containers", ()):
        for frame, _ in named_frames(file, "container", needed=("container", "arrival_ms")):
            stated = "departure_ms" in frame.columns
            ends = pl.col("departure_ms") if stated else pl.lit(None)
            parts.append(
                frame.select(
                    pl.col("container").cast(pl.String),
                    pl.col("arrival_ms").cast(pl.Float64, strict=False).alias(LIVES[0]),
                    ends.cast(pl.Float64, strict=False).alias(LIVES[1]),
                )
            )
    if not parts:
        return None
    arrival, departure = LIVES
    # a container that is listed several times lives from its first to its last time
    return (
        pl.concat(parts)
        .group_by("container")
        .agg(pl.col(arrival).min(), pl.col(departure).fill_null(float("inf")).max())
    )
