"""A mended file takes the place of its earlier version: the store is as if it had come first."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests_support import NODE_HEADER, TraceFolder, node_lines

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest
from tracekit.intake.ingest import stage as staging
from tracekit.intake.ingest.stage import stage
from tracekit.intake.read.discover import discover
from tracekit.store.folder import open_store
from tracekit.store.query import Database

TABLES = ("node", "node_resource", "container", "container_resource", "container_amount")
GOOD = {
    "nodes": "node,cpu_milli,memory_bytes\nn1,8000,34359738368\n",
    "containers": "container,node,arrival_ms,cpu_milli,memory_bytes\na,n1,0,500,268435456\n",
    "usage": "container,time_ms,cpu_milli,memory_bytes\na,0,100,1e8\na,30000,10,1e8\n",
}
BROKEN = {
    "nodes": "node,cpu_milli,memory_bytes\n,8000,34359738368\nn0,8000,34359738368\n",
    "containers": "container,node,arrival_ms,cpu_milli,memory_bytes\na,n7,0,500,268435456\n",
    "usage": "container,time_ms,cpu_milli,memory_bytes\na,0,100x,1e8\nb,30000,10,1e8\n",
}


def _written(folder: Path, tables: dict[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def _rows(store: Path) -> dict[str, list[tuple[object, ...]]]:
    with Database(open_store(store)) as database:
        frames = {
            table: database.frame(f"SELECT * FROM {table} ORDER BY ALL")
            for table in (*TABLES, "reject")
        }
    return {
        name: rows.select([one for one in rows.columns if not one.endswith("_key")]).rows()
        for name, rows in frames.items()
    }


@pytest.mark.slow
def test_broken_files_are_refused_and_mended_ones_replace_them(tmp_path: Path) -> None:
    folder, store = _written(tmp_path / "in", BROKEN), tmp_path / "store"
    with pytest.raises(TracekitError):
        ingest(folder, store)
    _written(folder, GOOD)
    ingest(folder / "nodes.csv", store, replace=True)
    summary = ingest(folder, store, replace=True)
    assert summary.replaced == ["containers.csv", "usage.csv"]
    ingest(folder, tmp_path / "fresh")
    assert _rows(store) == _rows(tmp_path / "fresh")


@pytest.mark.slow
def test_a_mended_file_that_was_taken_in_beside_its_earlier_version_replaces_it(
    tmp_path: Path,
) -> None:
    folder, store = _written(tmp_path / "in", GOOD), tmp_path / "store"
    ingest(folder, store)
    mended = GOOD["containers"].replace("500", "1500")
    _written(folder, {"containers": mended})
    ingest(folder, store)
    ingest(folder / "containers.csv", store, replace=True)
    ingest(folder, tmp_path / "fresh")
    assert _rows(store) == _rows(tmp_path / "fresh")


@pytest.mark.slow
def test_rows_that_lacked_a_container_are_read_again(tmp_path: Path) -> None:
    broken = {**GOOD, "containers": BROKEN["containers"]}
    folder, store = _written(tmp_path / "in", broken), tmp_path / "store"
    with pytest.raises(TracekitError):
        ingest(folder, store)
    _written(folder, GOOD)
    ingest(folder / "containers.csv", store, replace=True)
    assert ingest(folder / "usage.csv", store, replace=True).replaced == ["usage.csv"]
    ingest(folder, tmp_path / "fresh")
    assert _rows(store) == _rows(tmp_path / "fresh")


def test_what_cannot_be_read_replaces_nothing(tmp_path: Path) -> None:
    folder, store = _written(tmp_path / "in", GOOD), tmp_path / "store"
    ingest(folder, store)
    before = _rows(store)
    (folder / "usage.csv").write_text("container,time_ms\na,0\n")
    with pytest.raises(TracekitError):
        ingest(folder / "usage.csv", store, replace=True)
    (folder / "other.csv").write_text(GOOD["usage"])
    with pytest.raises(TracekitError):
        ingest(folder / "other.csv", store, replace=True)
    assert _rows(store) == before


# A file that is written to while it is read is refused: its rows and its hash would not agree.

LINE = f"9,{node_lines()[0]}\n"


def _grow(path: Path) -> None:
    with path.open("a") as file:
        file.write(LINE)


def _cut(path: Path) -> None:
    os.truncate(path, 0)


def _replace(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    other.replace(path)


@pytest.mark.parametrize("change", [_grow, _cut, _replace])
def test_nothing_of_it_is_taken_in(change: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "Node_0.csv"
    path.write_text("\n".join([NODE_HEADER, *(f"0,{line}" for line in node_lines())]) + "\n")
    (file,) = discover(path).files
    folder = tmp_path / "staging"
    folder.mkdir()
    with pytest.raises(TracekitError):
        stage(file, folder, lambda *_: change(path) if path.exists() else None)


def test_the_other_files_are_taken_in_and_the_changed_one_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces, store = tmp_path / "traces", tmp_path / "store"
    TraceFolder.written(traces)
    changing = next(path for path in sorted(traces.iterdir()) if path.name.startswith("Node"))
    read = staging._read

    def while_read(*given: object) -> None:
        read(*given)  # type: ignore[arg-type]
        if given[0].file.name == changing.name:  # type: ignore[attr-defined]
            _grow(changing)

    monkeypatch.setattr(staging, "_read", while_read)
    with pytest.raises(TracekitError):
        ingest(traces, store, jobs=1)
    before = {entry.file for entry in open_store(store).manifest.sources if entry.rows}
    assert before
    assert not [name for name in before if name.endswith(changing.name)]
    monkeypatch.setattr(staging, "_read", read)
    ingest(traces, store, jobs=1)
    after = {entry.file for entry in open_store(store).manifest.sources if entry.rows}
    assert any(name.endswith(changing.name) for name in after)
