"""A store that is made anew, killed at any moment: the earlier one is whole or the new one is."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from failing_loop import write_lists
from forks import failing_calls, shared
from store_support import tree
from tests_support import few_or_many

KILLS = few_or_many(2, 20)
_MONDAY = ("ingest", "lists/monday.json", "cluster", "--jobs", "1")
_BOTH = ("ingest", "lists", "cluster", "--jobs", "1")

pytestmark = pytest.mark.skipif(failing_calls() is None, reason="not Linux")


_LOCK = ".lock"
#: The catalog for DuckDB names the folder that the store was made in until the ingest is done; the
#: next one makes it of what is stored.
_OF_THE_FOLDER = {"catalog.duckdb", ".catalog.duckdb.new", ".catalog.duckdb.new.wal"}
#: Half a table of defects or sources, which no view names and the next one writes over.
_HALF = {"quality/.defects.parquet.new", "quality/.sources.parquet.new"}


def _contents(folder: Path) -> dict[str, str]:
    return {name: digest for name, digest in tree(folder).items() if name != _LOCK}


def _rows(contents: dict[str, str]) -> dict[str, str]:
    return {name: digest for name, digest in contents.items() if name not in _OF_THE_FOLDER | _HALF}


@pytest.mark.slow
def test_a_kill_while_a_store_is_made_anew_loses_nothing(tmp_path: Path) -> None:
    work, staying = tmp_path / "work", tmp_path / "kept"
    work.mkdir()
    write_lists(work / "lists")
    rng, kills, tries = np.random.default_rng(18), 0, 0
    forks = shared()
    assert forks.run(*_MONDAY, folder=work).code == 0
    (work / "cluster" / "notes.txt").write_text("mine")
    # a store's catalog names the folder that it stands in: all is tried in one place
    before = _contents(work / "cluster")
    shutil.copytree(work, staying)
    undisturbed = forks.run(*_BOTH, folder=work)
    after = _contents(work / "cluster")
    assert undisturbed.code == 0
    assert after != before
    while kills < KILLS:
        tries += 1
        assert tries < 10 * KILLS, "it ends before it is killed"
        shutil.rmtree(work)
        shutil.copytree(staying, work)
        moment_s = rng.random() * undisturbed.seconds
        killed = forks.run(*_BOTH, folder=work, seconds=moment_s)
        assert killed.code in (None, 0), killed.err
        kills += killed.code is None
        assert _rows(_contents(work / "cluster")) in (_rows(before), _rows(after)), moment_s
        assert forks.run("check", "cluster", "--verify", folder=work).code == 0
        again = forks.run(*_BOTH, folder=work)
        assert again.code == 0, again.err
        assert _contents(work / "cluster") == after
        assert sorted(path.name for path in work.iterdir()) == ["cluster", "lists"]
    print(f"{kills} of {kills} kills: the earlier store or the new one, then the same bytes")
