"""Every source on small files of its own: rows, rejects and what is counted as missing.

``released/SOURCE/CASE`` and ``own/SOURCE/CASE`` hold the files of a case, ``expected.txt`` what
they become. TRACEKIT_APPROVE=1 (``make approve``) takes what they become today as expected.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tracekit.base.errors import TracekitError
from tracekit.intake.read.by_reader import ReaderFile
from tracekit.intake.read.coded import CodedRows, key_kinds, kind_of
from tracekit.intake.read.discover import TraceFile, discover
from tracekit.intake.sources import ClusterMatch, ClusterSource, all_sources
from tracekit.store.tables import all_tables

HERE = Path(__file__).parent
CASES = sorted(case.parent for case in HERE.glob("*/*/*/expected.txt"))


@pytest.fixture
def _elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine in New York: a time without a zone is UTC wherever it is read."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize("case", CASES, ids=[str(case.relative_to(HERE)) for case in CASES])
def test_files_become_the_rows_and_rejects_that_are_expected(case: Path, tmp_path: Path) -> None:
    rows = "".join(_shown(case, tmp_path))
    approved = case / "expected.txt"
    if os.environ.get("TRACEKIT_APPROVE"):
        approved.write_text(rows)
    assert rows == approved.read_text()


def test_every_kind_of_file_of_every_source_has_a_case() -> None:
    wanted = {
        (name, file.word)
        for name, source in all_sources().items()
        if isinstance(source, ClusterSource)
        for file in source.files
    }
    seen = {(file.match.source.name, word) for case in CASES for word, file in _files(case)}
    assert wanted <= seen


@functools.cache
def _files(case: Path) -> list[tuple[str, TraceFile]]:
    """The word and the file of each file of a case that a source reads by code."""
    release = case.parent.name if case.is_relative_to(HERE / "released") else "auto"
    try:
        files = discover(case, release=release).files
    except TracekitError:
        return []
    return [(one.match.file.word, one) for one in files if isinstance(one.match, ClusterMatch)]


def _shown(case: Path, aside: Path) -> Iterator[str]:
    files = _files(case)
    if not files:
        yield "refused as a whole\n"
    for word, file in files:
        yield f"# {file.name}: {word}\n"
        reader = ReaderFile(file, aside)
        try:
            blocks = list(reader.blocks(lambda _: None))
        except TracekitError:
            yield "refused as a whole\n"
            continue
        for table in sorted(reader.keys):
            frame = _frame(reader, table, [one for of, one in blocks if of == table])
            if frame.height:
                filled = [one.name for one in frame if one.null_count() < frame.height]
                yield f"## {table}\n{frame.select(filled).write_csv()}"
            for (column, spelling), rows in sorted(reader.counts[table].missing.items()):
                yield f"## {table}: {column} is {spelling!r} in {rows} rows\n"
        rejects = sorted(
            f"{table},{line},{column or ''}\n"
            for table, one in blocks
            for line, column in one.rejects.select("line", "column").iter_rows()
        )
        yield "".join(["## rejects\n", *rejects] if rejects else [])


def _frame(reader: ReaderFile, table: str, parts: list[CodedRows]) -> pl.DataFrame:
    """The rows with names for keys, in an order of their own."""
    kinds = key_kinds(all_tables()[table])
    names = [
        [name for some in reader.keys[table].texts(at) for name in some.to_pylist()]
        for at in range(len(kinds))
    ]
    columns = {}
    for column in all_tables()[table].columns:
        whole = pl.Series(np.concatenate([np.empty(0), *(p.columns[column.name] for p in parts)]))
        if column.kind in {"id", "text"}:
            of = names[kinds.index(kind_of(column))]
            whole = pl.Series(
                [of[int(key)] if key >= 0 else None for key in whole], dtype=pl.String
            )
        elif column.kind == "number":
            whole = whole.fill_nan(None)
        else:
            whole = whole.cast(pl.Int64)
        columns[column.name] = whole
    columns["line"] = pl.Series([int(at) for part in parts for at in part.columns["line"]])
    frame = pl.DataFrame(columns)
    return frame.sort(frame.columns)
