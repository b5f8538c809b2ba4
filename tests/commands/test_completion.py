"""The shell completes names and folders; nothing heavy is loaded for it."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracekit.cluster import circumstances
from tracekit.cluster.assembly.assumptions import SizedAssumptions
from tracekit.cluster.assumptions import Assumptions
from tracekit.commands import listing as catalogue
from tracekit.commands.shell import completion
from tracekit.commands.shell.completion import completer, names

KINDS = [
    "queries",
    "sources",
    *completion._FILES,
    *completion._KEYS,
    *completion._OBJECTS,
]


@pytest.mark.parametrize("kind", KINDS)
def test_the_names_are_those_of_the_registry(kind: str) -> None:
    assert sorted(names(kind)) == sorted(str(one["name"]) for one in catalogue.listing(kind))


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


def test_a_query_is_found_by_its_own_name_and_a_file_is_left_to_the_shell() -> None:
    assert completer("queries")("zone_s") == ["usage/zone_summary"]
    assert completer("queries")("usage/zone_s") == ["usage/zone_summary"]
    assert completer("queries")("./mine.s") == []


def test_assumptions_are_those_that_a_store_may_be_replayed_with() -> None:
    classes = (Assumptions, SizedAssumptions)
    fields = {one.name for kind in classes for one in dataclasses.fields(kind)}
    assert set(names("assumptions")) == fields | set(circumstances.NAMES)
    assert completer("assumptions")("wai") == ["waiting="]


def test_a_rebalancer_goes_on_from_a_policy() -> None:
    assert completer("entrants")("best_f") == ["best_fit", "best_fit_cell"]
    assert completer("entrants")("comm") == ["common"]
    assert completer("entrants")("best_fit+load") == ["best_fit+load_spread"]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("tracekit sensitivity s --measure imbalance_m", "imbalance_mean"),
        ("tracekit run synth:sm", "synth:small"),
        ("tracekit rep", "replay report"),
        ("tracekit replay --policy least_al", "least_allocated"),
        ("tracekit query mystore usage/zone_s", "usage/zone_summary"),
        ("tracekit fetch ctm", "ctm21 ctm22"),
        ("tracekit fetch prometheus --fro", "--from"),
        ("tracekit nodes s --assume used", "used_share="),
        ("tracekit list pol", "policies"),
        ("tracekit info --js", "--json"),
    ],
)
def test_a_shell_asks_and_is_answered(typed: str, expected: str) -> None:
    words = typed.split()
    asked = {
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - 1),
        "_TRACEKIT_COMPLETE": "complete_bash",
    }
    code = (
        "import atexit, sys, tracekit.commands.shell;"
        "heavy = {'polars', 'duckdb', 'numpy', 'pyarrow', 'numba', 'rich'};"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules)), file=sys.stderr));"
        "tracekit.commands.shell.run([])"
    )
    program = f"import sys; sys.argv = ['tracekit']; {code}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == expected.split()
    assert done.stderr.strip() == "[]"
