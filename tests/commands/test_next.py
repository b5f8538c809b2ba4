"""``tracekit`` alone: what lies here, and how to go on from it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tracekit.commands.shell import run
from tracekit.commands.shell.following import Found, advice, kind_of, look_around
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
    found = look_around(tmp_path)
    assert found == Found(
        traces=(), stores=("out/store",), runs=("out/replay",), pages=("notes.html",)
    )
    commands = proposed(tmp_path)
    assert ["report", "out/replay"] in [one.split()[1:3] for one in commands]
    assert "tracekit nodes out/store" in commands


@pytest.mark.slow
def test_every_command_on_a_result_is_one_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a run leaves, made for real: what is proposed for each folder is no error."""
    monkeypatch.chdir(tmp_path)
    few = ["--policy", "first_fit", "--repeat", "1"]
    assert run(["run", "synth:tiny", "--out", "demo", *few]) == 0
    (tmp_path / "demo" / "report.html").unlink()
    assert {"bind", "fit"} & {kind for _, kind in look_around(tmp_path).others}
    reports = [words[1:] for words in map(shlex.split, proposed(tmp_path)) if words[1] == "report"]
    assert len(reports) > 1
    for words in reports:
        assert run(words) == 0, (words, capsys.readouterr().err)


def test_no_two_commands_write_to_one_place_and_none_over_what_is_there(tmp_path: Path) -> None:
    for name in ("a", "b", "a-b"):
        manifest(tmp_path / name, RUN)
    for name in ("one", "two"):
        manifest(tmp_path / name / "store", STORE)
        manifest(tmp_path / name / "fit", {"schema": "tracekit/fit/1"})
    (tmp_path / "b.html").write_text("")
    manifest(tmp_path / "one-store-run", RUN)
    commands = proposed(tmp_path)
    assert "tracekit report b --out b.html" not in commands
    assert "tracekit compare a a-b" in commands
    assert "one-store-run-2" in [one.split()[-1] for one in commands]
    outs = [one.rpartition(" ")[2] for one in commands if "--out" in one]
    assert len(outs) >= 6
    assert len(set(outs)) == len(outs)
    assert not [out for out in outs if (tmp_path / out).exists()]


def test_what_a_whole_run_leaves_is_known_to_belong_together(tmp_path: Path) -> None:
    manifest(tmp_path / "out" / "store", STORE)
    manifest(tmp_path / "out" / "replay", RUN)
    manifest(tmp_path / "out" / "analysis", {"schema": "tracekit/analysis/1"})
    manifest(tmp_path / "out" / "calls", {"schema": "tracekit/calls/1"})
    (tmp_path / "out" / "report.html").write_text("")
    lies = [fact.subject for fact, _ in advice(look_around(tmp_path))]
    assert lies[:2] == ["out/report.html", "out/replay"]
    assert {"out/analysis", "out/calls"} <= set(lies)


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
