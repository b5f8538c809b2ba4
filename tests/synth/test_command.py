from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracekit.commands.shell import run
from tracekit.synth.presets import all_presets


def test_json_is_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synth", str(tmp_path / "out"), "--preset", "tiny", "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "tracekit/synth/1"
    assert document["preset"] == "tiny"
    assert document["rows"].keys() == {
        "node_usage",
        "container_usage",
        "service_rate",
        "call",
        "node",
        "container",
    }
    assert Path(document["truth"]).is_dir()


def test_help_names_every_preset(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synth", "--help"]) == 0

    shown = capsys.readouterr().out
    assert all(name in shown for name in all_presets())
    assert "Example: tracekit synth" in shown


def test_some_archives_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["synth", str(tmp_path), "--preset", "tiny", "--tables", "rate,resource", "--parts", "0"]
    assert run([*call, "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["rows"].keys() == {"container_usage", "service_rate"}
    assert sorted(path.name for path in tmp_path.glob("*/*.tar.gz")) == [
        "MSRTQps_0.tar.gz",
        "MSResource_0.tar.gz",
    ]
