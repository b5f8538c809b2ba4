"""Every released source on small files of its own: rows, rejects and what is counted as missing.

``released/SOURCE/CASE`` holds the files of a case; ``expected.txt`` what they become.
TRACEKIT_APPROVE=1 (``make approve``) takes what they become today as expected.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tracekit.base.errors import TracekitError
from tracekit.intake.read.by_reader import ReaderFile
from tracekit.intake.read.coded import CodedRows
from tracekit.intake.read.discover import TraceFile, identify
from tracekit.intake.read.plan import key_kinds, kind_of
from tracekit.intake.sources import ClusterMatch, ClusterSource, all_sources, is_published
from tracekit.store.tables import all_tables

CASES = Path(__file__).with_name("released")
EXPECTED = "expected.txt"


@pytest.mark.parametrize(
    "case", sorted(CASES.glob("*/*/")), ids=lambda case: f"{case.parent.name}/{case.name}"
)
def test_files_become_the_rows_and_rejects_that_are_expected(case: Path, tmp_path: Path) -> None:
    found = "".join(_told(case, tmp_path))
    approved = case / EXPECTED
    if os.environ.get("TRACEKIT_APPROVE"):
        approved.write_text(found)
    assert found == approved.read_text()


def test_every_kind_of_file_of_every_released_source_has_a_case() -> None:
    wanted = {
        (name, file.word)
        for name, source in all_sources().items()
        if isinstance(source, ClusterSource) and is_published(name)
        for file in source.files
    }
    there = {(case.parent.name, word) for case in CASES.glob("*/*/") for word, _, _ in _files(case)}
    assert wanted <= there


def _files(case: Path) -> list[tuple[str, TraceFile, str]]:
    """The word, the file and the name of each file of a case that its source reads."""
    files = [
        identify(path, path.name, case.parent.name)
        for path in sorted(case.iterdir())
        if path.name != EXPECTED
    ]
    words = [one.match.file.word for one in files if isinstance(one.match, ClusterMatch)]
    beside = tuple((word, one.path, one.name) for word, one in zip(words, files, strict=True))
    return [
        (word, replace(one, beside=beside), one.name)
        for word, one in zip(words, files, strict=True)
    ]


def _told(case: Path, aside: Path) -> Iterator[str]:
    for word, file, name in _files(case):
        yield f"# {name}: {word}\n"
        reader = ReaderFile(file, aside)
        try:
            blocks = list(reader.blocks(lambda _: None))
        except TracekitError:
            yield "refused as a whole\n"
            continue
        for table in sorted(reader.keys):
            frame = _frame(reader, table, [one for of, one in blocks if of == table])
            if frame.height:
                there = [one.name for one in frame if one.null_count() < frame.height]
                yield f"## {table}\n{frame.select(there).write_csv()}"
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
