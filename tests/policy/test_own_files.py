"""A policy of one's own in commands: by its file, which results note with its digest."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shlex
from html import unescape
from pathlib import Path

import pytest
from tests_support import OWN, TraceFolder

from tracekit.commands.shell import run
from tracekit.intake.ingest import ingest
from tracekit.policy.entrant import files_of, parse_entrant
from tracekit.policy.parse import as_given, by_name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mine", "own/mine.py"),
        ("mine[weight=0.5]", "own/mine.py[weight=0.5]"),
        ("mine+load_spread", "own/mine.py+load_spread"),
        ("0.7*mine[weight=2]+0.3*best_fit", "0.7*own/mine.py[weight=2]+0.3*best_fit"),
        ("best_fit[tie=first]", "best_fit[tie=first]"),
        ("scheduler.yaml[tie=first]", "own/scheduler.yaml[tie=first]"),
    ],
)
def test_a_policy_is_spelled_as_it_can_be_run_again(text: str, said: str) -> None:
    files = [{"path": path} for path in ("own/mine.py", "own/scheduler.yaml")]
    assert as_given(text, by_name(files)) == said
    assert as_given(text, {}) == text


def test_files_are_noted_once_as_seen_from_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN)
    both = [parse_entrant("./mine.py"), parse_entrant("./mine.py[weight=2]+load_spread")]
    digest = hashlib.sha256(OWN.encode()).hexdigest()
    assert files_of(both) == [{"path": "mine.py", "sha256": digest}]
    assert files_of(both, tmp_path / "run") == [{"path": "../mine.py", "sha256": digest}]
    assert files_of([parse_entrant("best_fit")]) == []


def _proposed(text: str) -> list[list[str]]:
    """The commands of a page or of a terminal, in words; lines that go on are one."""
    whole = unescape(text).replace("\\\n", " ")
    lines = re.findall(r"^\s*(tracekit .*)$", whole, re.MULTILINE)
    return [shlex.split(line) for line in lines]


def _policies(command: list[str]) -> list[str]:
    return [after for word, after in itertools.pairwise(command) if word == "--policy"]


@pytest.mark.slow
def test_every_command_of_a_report_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN)
    TraceFolder.written(tmp_path / "trace")
    ingest(tmp_path / "trace", tmp_path / "store")
    own = ["--policy", "./mine.py", "--policy", "./mine.py[weight=0.5]", "--policy", "best_fit"]
    assert run(["replay", "store", *own, "--repeat", "6", "--out", "run"]) == 0
    document = json.loads((tmp_path / "run/manifest.json").read_text())
    digest = hashlib.sha256(OWN.encode()).hexdigest()
    noted = {one["policy"]: one.get("files") for one in document["policies"]}
    assert noted["mine[weight=0.5]"] == [{"path": "../mine.py", "sha256": digest}]
    assert noted["best_fit"] is None
    assert run(["report", "run", "--out", "page.html"]) == 0
    page = (tmp_path / "page.html").read_text()
    commands = _proposed(re.sub(r"<[^>]+>", "\n", page))
    (again,) = [one for one in commands if one[-1] == "again"]
    assert _policies(again) == ["mine.py", "mine.py[weight=0.5]", "best_fit"]
    assert digest in page
    asked = [name for command in commands for name in _policies(command)]
    assert not [name for name in asked if name.startswith("mine") and ".py" not in name]
    assert all(set(asked) >= {"mine.py"} for one in commands if "common" in _policies(one))
    # as printed, from where it is printed
    assert run([*again[1:-1], "again"]) == 0
