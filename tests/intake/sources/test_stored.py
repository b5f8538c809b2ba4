"""Folders that are ingested one after another: rows, rejects, doubts, and what a replay takes.

``stored/CASE/1``, ``2``, ... are the folders of a case, ``expected.txt`` what becomes of them; a
file of ``2`` lies beside those of ``1`` where the case has ``beside`` in its name.
TRACEKIT_APPROVE=1 (``make approve``) takes what they become today as expected.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_support import workload
from store_support import tree

from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact
from tracekit.intake.ingest import ingest, written_folder
from tracekit.store.catalog import damaged_parts
from tracekit.store.doubts import doubts
from tracekit.store.folder import DERIVED, Store, open_store
from tracekit.store.query import Database
from tracekit.store.tables import all_tables
from tracekit.store.views import read

#: Together the hundred cases take a minute of a processor.
pytestmark = pytest.mark.slow

CASES = sorted(case.parent for case in Path(__file__).parent.glob("stored/*/expected.txt"))
_REJECTS = 'SELECT "table", source_file, line, "column" FROM reject ORDER BY ALL'


@pytest.fixture(autouse=True)
def _without_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the time of an ingest; nothing here opens it."""
    monkeypatch.setattr(written_folder, "write_catalog", lambda _: None)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_folders_become_the_store_that_is_expected(case: Path, tmp_path: Path) -> None:
    rows = "".join(_shown(case, tmp_path))
    approved = case / "expected.txt"
    if os.environ.get("TRACEKIT_APPROVE"):
        approved.write_text(rows)
    assert rows == approved.read_text()


@pytest.mark.parametrize("name", ["a_cluster", "samples_of_two_files", "twice_the_same"])
def test_again_is_nothing_new_and_damaged_parts_are_mended(name: str, tmp_path: Path) -> None:
    folder, store = CASES[0].parent / name / "1", tmp_path / "store"
    ingest(folder, store, max_rejects_fraction=1.0)
    before, rows = tree(store), [*_stored(open_store(store))]
    assert not ingest(folder, store).ingested
    assert tree(store) == before
    ingest(folder, tmp_path / "other", max_rejects_fraction=1.0)
    assert tree(tmp_path / "other") == before
    for part in store.glob("tables/*/*.parquet"):
        whole = part.read_bytes()
        part.write_bytes(whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:])
    assert ingest(folder, store, max_rejects_fraction=1.0).mended
    assert not list(damaged_parts(store, open_store(store).manifest.sources))
    assert [*_stored(open_store(store))] == rows


def _shown(case: Path, aside: Path) -> Iterator[str]:
    lines: tuple[Fact, ...] = ()
    for turn in sorted(one for one in case.iterdir() if one.is_dir()):
        folder = turn
        if "beside" in case.name:
            folder = shutil.copytree(turn, aside / "all", dirs_exist_ok=True)
        try:
            lines = ingest(folder, aside / "store", max_rejects_fraction=1.0).doubts
        except TracekitError as error:
            yield f"# {turn.name} is refused: exit code {error.exit_code}\n"
            lines = ()
    if (aside / "store").exists():
        store = open_store(aside / "store")
        yield from _stored(store)
        for one in lines or doubts(store):
            about = json.dumps(dict(one.about), sort_keys=True, default=str)
            yield f"## doubt {one.because}: {one.subject}, {one.value}, {about}\n"
        yield from _replayed(store)


def _stored(store: Store) -> Iterator[str]:
    for table in all_tables():
        frame = read(store, table)
        filled = [one.name for one in frame if one.null_count() < frame.height]
        if filled:
            yield f"## {table}\n{frame.select(filled).sort(filled).write_csv()}"
    yield "## files\n"
    for one in store.manifest.sources:
        counts = (one.units_read, one.rows, one.rejected, one.duplicates_dropped)
        defects = "".join(f", {d.defect} {d.column or ''} {d.rows}" for d in one.defects)
        name = "" if one.release == DERIVED else one.file
        yield f"{name} {one.release} {one.table}: {counts}{defects}\n"
    quantities = {name for name, one in store.manifest.quantities.items() if one == "recorded"}
    yield f"recorded: {', '.join(sorted(quantities))}\n"
    with Database(store) as database:
        rejects = database.frame(_REJECTS)
    yield f"## rejects\n{rejects.write_csv()}" if rejects.height else ""


def _replayed(store: Store) -> Iterator[str]:
    try:
        load = workload(store)
    except TracekitError:
        yield "## not replayed\n"
        return
    yield f"## replayed{'' if load.rules.constraints is None else ' under constraints'}\n"
    closed = (
        [False] * load.nodes.count if load.nodes.cordoned is None else load.nodes.cordoned.tolist()
    )
    for node, sizes, shut in zip(load.nodes.ids, load.nodes.capacity.tolist(), closed, strict=True):
        yield f"{node}: {sizes}{', cordoned' if shut else ''}\n"
    for container, wanted in zip(
        load.containers.ids, load.containers.request.tolist(), strict=True
    ):
        yield f"{container}: {wanted}\n"
