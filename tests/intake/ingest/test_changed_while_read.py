"""A file that is written to while it is read is refused: its rows and its hash would not agree."""

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
    with pytest.raises(TracekitError, match=r"Node_0\.csv"):
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
    with pytest.raises(TracekitError, match="changed"):
        ingest(traces, store, jobs=1)
    before = {entry.file for entry in open_store(store).manifest.sources if entry.rows}
    assert before
    assert not [name for name in before if name.endswith(changing.name)]
    monkeypatch.setattr(staging, "_read", read)
    ingest(traces, store, jobs=1)
    after = {entry.file for entry in open_store(store).manifest.sources if entry.rows}
    assert any(name.endswith(changing.name) for name in after)
