"""Columns of a folder's tables that have a form: numbers within bounds, and JSON documents."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from tracekit.intake.sources._cluster import Broken
from tracekit.intake.sources._rows import Rule, emptied
from tracekit.store.tables import all_tables

#: Columns that hold documents, by table, and what each is.
_DOCUMENTS: Mapping[str, Mapping[str, type]] = {
    "container": {"labels": dict, "rules": list, "selector": list, "tolerations": list},
    "node": {"taints": list},
}
_SAID: Mapping[type, str] = {dict: "a JSON object", list: "a JSON list"}
_SELECTOR = "selector"
_EXAMPLE = '[[{"key":"shape","operator":"In","values":["t"]}]]'


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
    for name, kind in _DOCUMENTS.get(table, {}).items():
        if name in frame.columns and frame.schema[name] == pl.String:
            texts = frame[name].drop_nulls().unique()
            bad = [one for one in texts if not _is(one, kind)]
            found.append(_none_of(name, bad, _SAID[kind]))
            if name == _SELECTOR:
                flat = [one for one in texts if one not in bad and not _has_alternatives(one)]
                said = f"a list of alternatives, each a list of requirements, as {_EXAMPLE}"
                found.append(_none_of(name, flat, said))
    return found


def _none_of(name: str, wrong: Sequence[str], expected: str) -> Rule:
    broken = pl.col(name).is_in(pl.Series(wrong, dtype=pl.String).implode())
    return Rule(column=name, broken=broken, expected=expected)


def _has_alternatives(text: str) -> bool:
    """Whether a list holds lists of requirements, each with a key; an empty text says nothing."""
    return not text.strip() or all(
        isinstance(one, list)
        and all(isinstance(asked, dict) and isinstance(asked.get("key"), str) for asked in one)
        for one in json.loads(text)
    )


def _is(text: str, kind: type) -> bool:
    """Whether a text is a document of that kind; an empty one says nothing."""
    try:
        return not text.strip() or isinstance(json.loads(text), kind)
    except (ValueError, RecursionError):
        return False
