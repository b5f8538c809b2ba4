"""The shell completes names of what tracekit has, and folders of results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracekit.commands import listing as catalogue
from tracekit.commands.shell import completion
from tracekit.commands.shell.completion import completer, names


@pytest.mark.parametrize("kind", ["queries", *completion._FOLDERS])
def test_the_names_are_those_of_the_registry(kind: str) -> None:
    assert names(kind) == sorted(str(one["name"]) for one in catalogue.listing(kind))


def result(folder: Path, document: object) -> None:
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(document))


def test_folders_are_those_of_the_wanted_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result(tmp_path / "mystore", {"format_version": 2, "sources": []})
    result(tmp_path / "out" / "store", {"format_version": 2, "sources": []})
    result(tmp_path / "out" / "replay", {"schema": "tracekit/replay/1"})
    assert completer("stores")("") == ["mystore", "out/store"]
    assert completer("stores")("my") == ["mystore"]
    assert completer("stores")("out/") == ["out/store"]
    assert completer("stores")(f"{tmp_path}/my") == [f"{tmp_path}/mystore"]
    assert completer("runs")("o") == ["out/replay"]
    assert completer("results")("out/") == ["out/replay", "out/store"]
    assert completer("stores")("nowhere/") == []


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("tracekit sensitivity s --measure imbalance_m", "imbalance_mean"),
        ("tracekit run synth:sm", "synth:small"),
        ("tracekit rep", "replay report"),
        ("tracekit replay --policy least_al", "least_allocated"),
        ("tracekit replay --policy best_fit+load", "best_fit+load_spread"),
        ("tracekit query mystore usage/zone_s", "usage/zone_summary"),
        ("tracekit query mystore ./mine.s", ""),
        ("tracekit info sto", ""),
        ("tracekit fetch ctm", "ctm21 ctm22"),
        ("tracekit fetch prometheus --fro", "--from"),
        ("tracekit nodes s --assume used", "used_share="),
        ("tracekit list pol", "policies"),
        ("tracekit info --js", "--json"),
    ],
)
def test_a_shell_gets_the_words_that_continue(typed: str, expected: str) -> None:
    words = typed.split()
    environment = {
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - 1),
        "_TRACEKIT_COMPLETE": "complete_bash",
    }
    program = (
        "import sys; sys.argv = ['tracekit']; import tracekit.commands.shell;"
        "tracekit.commands.shell.run([])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (expected.split(), "")
