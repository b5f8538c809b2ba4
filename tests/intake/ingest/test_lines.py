"""Shares of broken rows are of lines of the file, however many rows a good line gives."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from cluster_support import written

from tracekit.base.errors import CheckFailedError
from tracekit.intake.ingest import ingest
from tracekit.intake.ingest.staged import RejectsWriter
from tracekit.intake.read.parse import REJECTS_SCHEMA

FILES = {
    "nodes.csv": ["node,cpu_milli,memory_bytes", "n1,8000,17179869184", "n2,nan,17179869184"],
    "containers.csv": [
        "container,service,node,arrival_ms,cpu_milli,memory_bytes",
        "a,s,n1,0,1000,1073741824",
    ],
    "usage.csv": [
        "container,time_ms,cpu_milli,memory_bytes,net_kbit_per_s,disk_bytes",
        *(f"{one},{at * 60_000},500,5e8,10,1e6" for one in ("a", "zz") for at in range(10)),
    ],
}


def test_the_limit_on_broken_rows_is_on_lines(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", {**FILES, "nodes.csv": FILES["nodes.csv"][:2]})
    with pytest.raises(CheckFailedError):
        ingest(folder, tmp_path / "refused", max_rejects_fraction=0.49)
    assert not ingest(folder, tmp_path / "store", max_rejects_fraction=0.5).failed


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
