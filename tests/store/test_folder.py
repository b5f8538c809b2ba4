"""The folder of a store: who writes to it, what it may hold, where it may go."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from store_support import ingest_one, tree
from tests_support import NODE_HEADER, TraceFolder, node_lines

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest
from tracekit.store.folder import FORMAT_VERSION, open_store
from tracekit.store.query import Database
from tracekit.store.query.plan import plan


def test_a_folder_that_is_no_store_is_not_written_to(traces: TraceFolder, tmp_path: Path) -> None:
    other = tmp_path / "photos"
    other.mkdir()
    (other / "cat.jpg").write_text("x")
    with pytest.raises(TracekitError):
        ingest(traces.path, other)
    assert [path.name for path in other.iterdir()] == ["cat.jpg"]


@pytest.mark.parametrize("version", [1, 9])
def test_a_store_of_another_format_is_refused_and_left_alone(
    traces: TraceFolder, tmp_path: Path, version: int
) -> None:
    store = tmp_path / "store"
    ingest(traces.path, store)
    manifest = store / "manifest.json"
    own = f'"format_version": {FORMAT_VERSION}'
    manifest.write_text(manifest.read_text().replace(own, f'"format_version": {version}'))
    before = tree(store)
    with pytest.raises(TracekitError):
        open_store(store)
    with pytest.raises(TracekitError):
        ingest(traces.path, store)
    assert tree(store) == before


def test_a_table_that_got_columns_is_not_read_from_a_store_made_before(
    traces: TraceFolder, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    ingest(traces.path, store)
    manifest = store / "manifest.json"
    sealed = manifest.read_text().replace(
        f'"format_version": {FORMAT_VERSION}', '"format_version": 3'
    )
    earlier = sealed[: sealed.index(',\n "seal"')] + "\n}\n"
    manifest.write_text(earlier)
    assert open_store(store).manifest.parts("node_usage")
    manifest.write_text(earlier.replace('"table": "node_usage"', '"table": "container"', 1))
    with pytest.raises(TracekitError):
        open_store(store)


def test_a_store_can_be_moved(traces: TraceFolder, tmp_path: Path) -> None:
    ingest(traces.path, tmp_path / "store")
    shutil.move(tmp_path / "store", tmp_path / "else where's")
    with Database(open_store(tmp_path / "else where's")) as database:
        assert database.scalar("SELECT count(*) FROM node_usage") == len(node_lines())


ODD = ["a?b", "a[1]", "a*", "a,b", "two\nlines", "quo'te", "\x1b[31mred"]


@pytest.mark.parametrize("name", ODD)
def test_a_store_may_lie_anywhere(name: str, tmp_path: Path) -> None:
    """What engines take for a pattern is a name, and no other folder's rows are read with it."""
    for other in ("axb", "a1"):
        ingest_one(made(tmp_path / other), "Node_0.csv", NODE_HEADER, node_lines(2))
    ingest_one(made(tmp_path / name), "Node_0.csv", NODE_HEADER, node_lines(1))
    store = open_store(tmp_path / name / "store")
    with Database(store) as database:
        assert database.scalar("SELECT count(*) FROM node_usage") == len(node_lines(1))
        assert database.scalar("SELECT count(DISTINCT node) FROM node_usage") == 1
    assert plan(store).tables[0].rows == len(node_lines(1))


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder
