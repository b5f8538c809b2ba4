"""What looks like another mistake is named as what it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracekit
from tracekit.base.errors import TracekitError
from tracekit.commands.shell import run

#: What is asked, and what of it is wrong.
CASES = [
    (["replay", "run", "--out", "x"], "run"),
    (["query", "run", "usage/zone_summary"], "run"),
    (["info", "analysis"], "analysis"),
    (["ingest", "store", "x"], "store"),
    (["fetch", "ctm21", "x", "--tables", "node", "--parts", "5-9"], "Node"),
    (["replay", "--workload", "paper000", "--policy", "first_fit,best_fit", "--out", "x"],
     "first_fit,best_fit"),
    (["replay", "--workload", "paper000", "--policy",
      "target_load_packing[target_utilization=160]", "--out", "x"], "160"),
    (["report", "run", "--out", "nowhere/r.html"], "nowhere"),
    (["replay", "run/manifest.json", "--out", "x"], "run/manifest.json"),
    (["info", "run/manifest.json"], "run/manifest.json"),
    (["report", "run/manifest.json", "--out", "x.html"], "run/manifest.json"),
    (["info", "study"], "study"),
    (["replay", "--workload", "study", "--out", "x"], "study"),
    (["run", "whole", "--out", "x"], "whole"),
    (["compare", "whole", "run"], "whole/replay"),
    (["compare", "nosuch", "run"], "nosuch"),
    (["compare", "lost", "run"], "manifest.json"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "wrong"), CASES)
def test_it_names_what_is_wrong_and_leaves_nothing(
    arguments: list[str],
    wrong: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, name in (("replay", "run"), ("analysis", "analysis")):
        (tmp_path / name).mkdir()
        by_name = {"schema": f"tracekit/{kind}/1", "files": []}
        (tmp_path / name / "manifest.json").write_text(json.dumps(by_name))
    for name, file in (("lost", "answer.json"), ("study", "study.json")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("{}")
    for store in ("store", "whole/store"):
        (tmp_path / store).mkdir(parents=True)
        document = '{\n "format_version": 5,\n "sources": []\n}'
        (tmp_path / store / "manifest.json").write_text(document)
    shutil.copytree(tmp_path / "run", tmp_path / "whole" / "replay")
    assert run(arguments) == 2
    assert wrong in capsys.readouterr().err
    existing = ["analysis", "lost", "run", "store", "study", "whole"]
    assert sorted(path.name for path in tmp_path.iterdir()) == existing


def test_what_is_no_store_yet_is_told_how_to_become_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my traces").mkdir()
    source = str(tmp_path / "my traces")
    assert run(["info", source]) == 2
    assert f"tracekit ingest '{source}' STORE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("workload", "hint"),
    [
        pytest.param(
            {"loader": "parquet[step_ms=1000]:../own"},
            "'parquet[step_ms=1000]:own'",
            id="a folder",
        ),
        pytest.param(
            {"loader": "paper000"}, "workload",
            id="no file",
        ),
        pytest.param(
            {"store": "../store"},
            "report",
            id="a store",
        ),
        pytest.param({}, "report", id="not known"),
    ],
)  # fmt: skip
def test_what_a_run_was_made_from_is_what_to_give(
    workload: dict[str, str],
    hint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    document = '{\n "format_version": 5,\n "sources": []\n}'
    message = json.dumps({"schema": "tracekit/replay/1", "workload": workload})
    for name, text in (("run", message), ("store", document)):
        Path(name).mkdir()
        (Path(name) / "manifest.json").write_text(text)
    assert run(["info", "run"]) == 2
    assert hint in capsys.readouterr().err


# A wrong policy is told before anything is read: here the workload is not even there.


WRONG = ["least_alocated"]
#: Each verb with a store or trace that would fail if it were read.
VERBS: dict[str, Callable[[Path], Any]] = {
    "replay": lambda at: tracekit.replay(at / "none", WRONG, out=at / "run"),
    "replay, repeated": lambda at: tracekit.replay(
        at / "none", ["first_fit"], out=at / "run", repeat_policies=WRONG
    ),
    "run": lambda at: tracekit.run(at / "none", at / "out", policies=WRONG),
    "nodes": lambda at: tracekit.nodes(at / "none", policies=WRONG),
    "sensitivity": lambda at: tracekit.sensitivity(at / "none", policies=[*WRONG, "first_fit"]),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_wrong_policy_is_told_before_the_workload_is_read(verb: str, tmp_path: Path) -> None:
    with pytest.raises(TracekitError, match="'least_alocated'") as raised:
        VERBS[verb](tmp_path)
    assert "least_allocated" in (raised.value.hint or "")
    assert not list(tmp_path.iterdir())


def test_a_wrong_assumption_is_told_before_anything_is_read_or_made(tmp_path: Path) -> None:
    wrong = ["node_cpu_core=3"]
    for call in (
        lambda: tracekit.run("synth:tiny", tmp_path / "out", assume=wrong),
        lambda: tracekit.sensitivity(tmp_path / "none", changes=wrong),
    ):
        with pytest.raises(TracekitError, match="'node_cpu_core'") as raised:
            call()
        assert "'node_cpu_cores'" in str(raised.value.hint)
    assert not list(tmp_path.iterdir())
