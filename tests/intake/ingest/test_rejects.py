"""Kinds of broken rows, as the ledger names them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tracekit.intake.ingest.rejects import RejectsWriter
from tracekit.intake.read.parse import REJECTS_SCHEMA


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("is 'E', expected a VM of vmtable", "unknown_name"),
        ("is 'n9', which no file describes", "unknown_name"),
        ("is 'zz', expected a container of the files beside", "unknown_name"),
        ("is 'x', expected a number", "unparsable_value"),
        ("is empty, expected a value", "empty_value"),
        ("is -1, expected at least 0", "out_of_range"),
        ("is cut off: the file ends before the line does", "malformed_row"),
        ("is cut off: the file ends before the value does", "unreadable_document"),
        ("is no JSON: expected { or [", "unreadable_document"),
        ("is an error of the watch (too old): what changed", "watch_error"),
        ("is of an answer that came with a warning: at least 1 store", "partial_answer"),
    ],
)
def test_a_broken_row_is_of_a_kind(tmp_path: Path, reason: str, kind: str) -> None:
    rejects = RejectsWriter(tmp_path / "rejects.parquet", "file.csv")
    row = {"line": 1, "column": "vm", "reason": reason, "text": ""}
    rejects.append(pl.DataFrame([row], schema=REJECTS_SCHEMA))
    rejects.close()
    assert [one.defect for one in rejects.defects()] == [kind]


@pytest.mark.parametrize(
    ("file", "place"),
    [("file.csv", "line"), ("file.jsonl", "line"), ("a.json", "object"), ("a.json.gz", "object")],
)
def test_the_example_is_the_first_place_with_its_reason(
    tmp_path: Path, file: str, place: str
) -> None:
    """In kubectl's indented list the sixth pod is not on the sixth line."""
    rejects = RejectsWriter(tmp_path / "rejects.parquet", file)
    for line, reason in ((9, "is 'b', expected a number"), (4, "is 'a', expected a number")):
        row = {"line": line, "column": "cpu", "reason": reason, "text": ""}
        rejects.append(pl.DataFrame([row], schema=REJECTS_SCHEMA))
    rejects.close()
    (found,) = rejects.defects()
    assert (found.rows, found.column) == (2, "cpu")
    assert found.example == f"{place} 4: is 'a', expected a number"
