"""What ingest prints of files of which little or nothing could be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kubernetes_support import listed, node, pod, written

from tracekit.commands.shell import run


def _said(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_series_without_a_name_are_told_with_the_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cluster"
    folder.mkdir()
    written(folder / "kubernetes.json", listed(node("n1"), pod(nodeName="n1")))
    series = {"metric": {"namespace": "default", "pod": "web-1"}, "values": [[1767225630, "1"]]}
    answer = {"status": "success", "data": {"resultType": "matrix", "result": [series]}}
    (folder / "cpu.json").write_text(json.dumps(answer))
    assert run(["ingest", str(folder), str(tmp_path / "store")]) == 2
    assert "container_cpu_in_use.json" in capsys.readouterr().err
    assert run(["check", str(tmp_path / "store")]) == 0
    assert "cpu.json" in _said(capsys)


def test_json_that_no_source_reads_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cluster"
    folder.mkdir()
    written(folder / "kubernetes.json", listed(node("n1"), pod(nodeName="n1")))
    (folder / "pdb.json").write_text('{"budgets": ["web"]}')
    assert run(["ingest", str(folder), str(tmp_path / "store")]) == 0
    said = _said(capsys)
    assert "pdb.json" in said
    assert '{"budgets": ["web"]}' in said
