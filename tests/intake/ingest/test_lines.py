"""Shares of broken rows are of lines of the file, however many rows a good line gives."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from cluster_support import written

from tracekit.base.errors import CheckFailedError
from tracekit.intake.ingest import ingest
from tracekit.intake.ingest.rejects import RejectsWriter
from tracekit.intake.read.parse import REJECTS_SCHEMA
from tracekit.store.broken_rows import broken_rows
from tracekit.store.folder import open_store
from tracekit.store.query import run

HEAD = "container,time_ms,cpu_milli,memory_bytes,net_kbit_per_s,disk_bytes"
FILES = {
    "nodes.csv": ["node,cpu_milli,memory_bytes", "n1,8000,17179869184", "n2,nan,17179869184"],
    "containers.csv": [
        "container,service,node,arrival_ms,cpu_milli,memory_bytes",
        "a,s,n1,0,1000,1073741824",
    ],
    "usage.csv": [
        HEAD,
        *(f"{one},{at * 60_000},500,5e8,10,1e6" for one in ("a", "zz") for at in range(10)),
    ],
}


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (0.3, "usage.csv: 10 of 20 "),
        (0.5, None),
    ],
)
def test_the_limit_on_broken_rows_is_on_lines(
    tmp_path: Path, limit: float, said: str | None
) -> None:
    folder = written(tmp_path / "in", {**FILES, "nodes.csv": FILES["nodes.csv"][:2]})
    if said is None:
        assert not ingest(folder, tmp_path / "store", max_rejects_fraction=limit).failed
        return
    with pytest.raises(CheckFailedError) as raised:
        ingest(folder, tmp_path / "store", max_rejects_fraction=limit)
    assert raised.value.what.startswith(said)
    assert "30.0 %" in raised.value.what


def test_a_value_that_is_no_number_is_one_reject(tmp_path: Path) -> None:
    use = [HEAD, "a,0,nan,5e8,10,1e6", "a,60000,inf,-5,10,1e6", "a,120000,500,5e8,10,1e6"]
    summary = ingest(written(tmp_path / "in", {**FILES, "usage.csv": use}), tmp_path / "store")
    usage = next(one for one in summary.ingested if one.table == "container_amount")
    # two values of the second line are wrong, and it is one of three lines
    assert (usage.lines_read, usage.rejected, usage.rows) == (3, 2, 9)
    assert {one.column: one.rows for one in usage.defects} == {"cpu_milli": 2}
    reasons = run(open_store(tmp_path / "store"), "FROM reject")["reason"].to_list()
    said = "is 'inf', expected 0 or more; memory_bytes is '-5', expected 0 or more"
    assert said in reasons


def test_texts_are_rejects_of_their_own_columns_and_a_line_counts_once(tmp_path: Path) -> None:
    """Of one line with two texts it was said that two rows are broken, in a column 'amount'."""
    use = ["container,time_ms,cpu_milli,memory_bytes", "a,0,500,5e8", "a,60000,bad,bad"]
    use += ["a,120000,5,bad", "a,180000,5,5e8"]
    summary = ingest(written(tmp_path / "in", {**FILES, "usage.csv": use}), tmp_path / "store")
    usage = next(one for one in summary.ingested if one.table == "container_amount")
    assert (usage.lines_read, usage.rejected, usage.rows) == (4, 2, 5)
    broken = [one for one in broken_rows(summary.ingested) if one.subject == "usage.csv"]
    assert [(one.value, one.about["of"], one.about["column"]) for one in broken] == [
        (1, 4, "cpu_milli"),
        (1, 4, "memory_bytes"),
    ]


@pytest.mark.parametrize("empty", ["a,60000,,,,", "a,60000,,,,\na,90000,,,,"])
def test_a_line_without_any_amount_is_a_line_that_was_read(tmp_path: Path, empty: str) -> None:
    """It was neither row nor reject, nor among the lines of the file."""
    use = [HEAD, "a,0,500,5e8,10,1e6", empty, "zz,0,5,5e8,10,1e6"]
    summary = ingest(written(tmp_path / "in", {**FILES, "usage.csv": use}), tmp_path / "store")
    usage = next(one for one in summary.ingested if one.table == "container_amount")
    read = 2 + len(empty.splitlines())
    assert (usage.lines_read, usage.rejected, usage.rows) == (read, 1, 4)


# Kinds of broken rows, as the ledger names them.


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
