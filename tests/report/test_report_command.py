"""tracekit report, as users call it."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from tracekit.base.errors import TracekitError
from tracekit.commands.shell import run


@pytest.mark.slow
def test_json_names_the_file_and_the_findings(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.html"
    assert run(["report", str(store), "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "tracekit/report/1"
    assert document["out"] == str(out)
    assert document["size_bytes"] == out.stat().st_size
    assert {"span", "records"} <= {one["kind"] for one in document["facts"]}
    assert document["headline"]


@pytest.mark.slow
def test_people_get_the_findings_in_80_columns(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.html"
    assert run(["report", str(run_folder), "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert f"report: {out}" in shown
    assert all(len(line) <= 80 for line in shown.splitlines() if "report:" not in line)


@pytest.mark.slow
@pytest.mark.page_faults_are_told
def test_a_page_with_a_fault_is_told_and_the_others_are_whole(
    run_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fault(*_: object) -> object:
        raise TypeError("unsupported format string")

    monkeypatch.setattr(importlib.import_module("tracekit.report.page").Printer, "measures", fault)
    out = tmp_path / "r.html"
    assert run(["report", str(run_folder), "--out", str(out)]) == 0
    assert "unsupported" in " ".join(capsys.readouterr().out.split())
    page = out.read_text()
    assert page.count("unsupported format string") == 1
    assert 'id="/policies"' in page
    monkeypatch.setenv("TRACEKIT_DEBUG", "1")
    with pytest.raises(TracekitError):
        run(["report", str(run_folder), "--out", str(out)])
