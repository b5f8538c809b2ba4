"""The real heads of the tables, through the command line: the numbers of the acceptance list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracekit.commands.shell import run


def document(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run([*arguments, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_the_real_heads(
    real_rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "store")
    document(["ingest", str(real_rows), store], capsys)
    tables = document(["info", store], capsys)["tables"]
    node, container = tables["node_usage"], tables["container_usage"]
    assert (node["rows"], node["nodes"], node["step_ms"]) == (999, 964, 30_000)
    assert (container["rows"], container["services"]) == (999, 402)
    assert (container["containers"], container["nodes"]) == (992, 947)
    assert container["step_ms"] == 30_000
    assert tables["service_rate"]["rows"] == 14
    ledger = document(["check", store], capsys)["ledger"]
    assert {"table": "node_usage", "defect": "stray_time"}.items() <= ledger[-1].items()


def test_the_head_of_the_call_graph(
    real_rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "store")
    document(["ingest", str(real_rows / "MSCallGraph_0.csv"), store], capsys)
    call = document(["info", store], capsys)["tables"]["call"]
    assert (call["rows_read"], call["traces"], call["duplicates_dropped"]) == (999, 21, 77)
    assert call["rows"] == 999 - 77
    checked = document(["check", store], capsys)
    assert checked["tables"]["call"]["rows_read"] == 999
    (duplicates,) = [row for row in checked["ledger"] if row["defect"] == "exact_duplicate"]
    assert duplicates["rows"] == 77
