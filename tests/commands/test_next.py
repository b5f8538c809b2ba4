"""``tracekit`` alone: the contents of a folder, and how to go on from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracekit.commands.shell import run
from tracekit.commands.shell.following import Contents, advice, kind_of, look_around
from tracekit.report.sentences import command

STORE = {"format_version": 1, "sources": []}
RUN = {"schema": "tracekit/replay/1"}


def manifest(folder: Path, content: object) -> Path:
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(content))
    return folder


def proposed(folder: Path) -> list[str]:
    return [command(followup) for _, followup in advice(look_around(folder)) if followup]


def archive(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    return path


def test_it_sees_what_a_run_leaves(tmp_path: Path) -> None:
    manifest(tmp_path / "out" / "store", STORE)
    manifest(tmp_path / "out" / "replay", RUN)
    (tmp_path / "notes.html").write_text("")
    assert look_around(tmp_path) == Contents(
        traces=(), stores=("out/store",), runs=("out/replay",), pages=("notes.html",)
    )
    assert proposed(tmp_path) == [
        "tracekit report out/replay --out out-replay.html",
        "tracekit nodes out/store",
    ]
    (tmp_path / "out" / "report.html").write_text("")
    assert proposed(tmp_path) == ["tracekit nodes out/store"]


def test_what_is_made_of_this_folder_goes_beside_it(tmp_path: Path) -> None:
    commands = proposed(manifest(tmp_path / "s", STORE))
    assert "../run" in [one.rpartition(" ")[2] for one in commands]


def test_traces_in_one_folder_and_in_several(tmp_path: Path) -> None:
    archive(tmp_path / "one" / "Node_0.tar.gz")
    assert look_around(tmp_path).traces == ("one",)
    archive(tmp_path / "two" / "MSResource" / "MSResource_0.tar.gz")
    assert look_around(tmp_path).traces == (".",)
    assert "tracekit run . --out out" in proposed(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"schema": 1}'])
def test_a_foreign_manifest_is_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    assert kind_of(tmp_path) is None


def test_the_command_alone_prints_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([]) == 0
    shown = capsys.readouterr().out
    assert "synth:small" in shown
    assert "tracekit --help" in shown
