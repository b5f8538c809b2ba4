"""Columns of a folder's tables that have a form: numbers within bounds, and JSON documents."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import polars as pl

from tracekit.intake.sources._cluster import Broken
from tracekit.intake.sources._rows import Rule, emptied
from tracekit.store.tables import all_tables


class _Asked(msgspec.Struct):
    """A requirement of a selector; what it says beside its key is looked at in a replay."""

    key: str


_LIST = "a JSON list"
_REQUIREMENTS = 'requirements, as [[{"key":"shape","operator":"In","values":["t"]}]]'
#: Columns that hold JSON, by table: the type of each, and what that is in words.
_DOCUMENTS: Mapping[str, Mapping[str, tuple[Any, str]]] = {
    "container": {
        "labels": (dict, "a JSON object"),
        "rules": (list, _LIST),
        "selector": (
            list[list[_Asked]],
            f"{_LIST} of alternatives, each a list of {_REQUIREMENTS}",
        ),
        "tolerations": (list, _LIST),
    },
    "node": {"taints": (list, _LIST)},
}


def in_form(frame: pl.DataFrame, table: str) -> list[Rule]:
    """The rules that the columns of a table of the store hold what that table takes."""
    return [*_numbers(frame, table), *_documents(frame, table)]


def without_wrong_numbers(frame: pl.DataFrame, table: str) -> tuple[pl.DataFrame, list[Broken]]:
    """The frame without numbers that are wrong and may be left out, and a reject for each."""
    may_lack = {column.name for column in all_tables()[table].columns if not column.required}
    rules = [
        replace(one, expected=f"{one.expected}; the row is kept without it")
        for one in _numbers(frame, table)
        if one.column in may_lack
    ]
    return emptied(frame, rules, table)


def _numbers(frame: pl.DataFrame, table: str) -> list[Rule]:
    found = []
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
        found.append(Rule(column=column.name, broken=broken, expected=expected))
    return found


def _documents(frame: pl.DataFrame, table: str) -> list[Rule]:
    found = []
    for name, (kind, said) in _DOCUMENTS.get(table, {}).items():
        if name in frame.columns and frame.schema[name] == pl.String:
            texts = frame[name].drop_nulls().unique()
            wrong = pl.Series([one for one in texts if not _is(one, kind)], dtype=pl.String)
            broken = pl.col(name).is_in(wrong.implode())
            found.append(Rule(column=name, broken=broken, expected=said))
    return found


def _is(text: str, kind: Any) -> bool:
    """Whether a text is a document of that type; an empty one says nothing."""
    try:
        return not text.strip() or msgspec.json.decode(text, type=kind) is not None
    except (ValueError, RecursionError):
        return False
