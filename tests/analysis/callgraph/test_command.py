"""tracekit callgraph on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests_support import TraceFolder, call_lines

from tracekit.analysis.callgraph.run import Folder
from tracekit.commands.shell import run
from tracekit.intake.ingest import ingest

FILES = ["calls", "traces", "ledger", "edges", "services", "shapes"]


@pytest.fixture
def store(traces: TraceFolder, tmp_path: Path) -> str:
    ingest(traces.path, tmp_path / "store")
    return str(tmp_path / "store")


def test_the_document_and_the_files(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "graphs"
    assert run(["callgraph", store, "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "tracekit/callgraph/1"
    assert (document["mode"], document["counts"]["traces"]) == ("repair", 2)
    assert document["files"] == [f"{name}.parquet" for name in FILES]
    written = sorted([*document["files"], "manifest.json"])
    assert sorted(path.name for path in out.iterdir()) == written
    ledger = pl.read_parquet(out / "ledger.parquet")
    totals = ledger.group_by("defect", "action").agg(pl.col("count").sum()).rows()
    names = {(row["defect"], row["action"], row["count"]) for row in document["ledger"]}
    assert set(totals) == names


def test_calls_are_printed_with_the_traces_own_ids(store: str, tmp_path: Path) -> None:
    assert run(["callgraph", store, "--out", str(tmp_path / "out")]) == 0
    calls = pl.read_parquet(tmp_path / "out" / "calls.parquet")
    assert set(calls["trace"]) == {line.split(",")[0] for line in call_lines()}
    first = calls.filter(pl.col("trace") == call_lines()[0].split(",")[0])
    columns = ("call", "parent", "rpc_id", "depth", "rpc_type", "response_time_ms", "repeats")
    assert first.select(columns).rows() == [
        (0, None, "0", 0, "http", 25.0, 1),
        (1, 0, "0.1", 1, "rpc", 7.0, 1),
        (2, 1, "0.1.1", 2, "mc", 0.0, 1),
    ]
    services = {line.split(",")[3] for line in call_lines()} - {"", "(?)"}
    assert set(calls["upstream"].drop_nulls()) == services


def test_the_same_bytes_each_time(store: str, tmp_path: Path) -> None:
    for name in ("one", "other"):
        assert run(["callgraph", store, "--out", str(tmp_path / name)]) == 0
    for name in FILES:
        one, other = (tmp_path / out / f"{name}.parquet" for out in ("one", "other"))
        assert one.read_bytes() == other.read_bytes(), name


def test_a_failed_run_leaves_no_half_result(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    # the calls are written by then, the totals are not
    monkeypatch.setattr(Folder, "whole", full)
    assert run(["callgraph", store, "--out", str(tmp_path / "out")]) == 2
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []
