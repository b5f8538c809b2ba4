"""Files of a published workload, in a folder, a zip or alone, with the readers of its source."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from zipfile import is_zipfile

import polars as pl

from tracekit.errors import TracekitError
from tracekit.opened import is_file, open_file
from tracekit.sources._cluster import Broken, Head, Opened
from tracekit.sources._rows import Rule, missing, refuse
from tracekit.sources._zipped import HEAD_BYTES, unreadable_as_error, zipped

#: Rows of a file, and its lines that are none.
Rows = tuple[pl.DataFrame, Sequence[Broken]]


def files_at(path: Path) -> list[tuple[Head, Opened]]:
    """How the CSV files at a path begin, and the files, in order of their names.

    Other files are passed over, and so is a damaged zip: the caller says which files are missing.
    """
    if path.is_dir():
        return [file for one in sorted(path.iterdir()) for file in _files_of(one)]
    return list(_files_of(path))


def _files_of(path: Path) -> Iterator[tuple[Head, Opened]]:
    if is_file(path) and is_zipfile(path):
        try:
            yield from zipped(path, path.name)
        except TracekitError:
            return
    elif is_file(path) and path.suffix == ".csv":
        with open_file(path) as stream:
            head = Head(name=path.name, start=stream.read(HEAD_BYTES))
        yield head, Opened(path=path, name=path.name, stream=partial(open_file, path))


def whole_rows(
    opened: Opened,
    read: Callable[[Opened], Rows],
    *,
    texts: Iterable[str] = (),
    numbers: Iterable[str] = (),
) -> pl.DataFrame:
    """All rows of a file in which these columns are never empty.

    Raises
    ------
    TracekitError
        That names the first line that is no such row.
    """
    with unreadable_as_error(opened.name):
        rows = all_good(opened, read(opened))
    finite = [
        Rule(
            column=name,
            broken=pl.col(name).is_null() | ~pl.col(name).is_finite(),
            expected="a number",
        )
        for name in numbers
    ]
    return all_good(opened, refuse(rows, [*missing(*texts), *finite], ""))


def all_good(opened: Opened, found: Rows) -> pl.DataFrame:
    """The rows where no line is broken; else TracekitError names the first that is."""
    rows, broken = found
    if broken:
        first = min(broken, key=lambda one: one.line)
        column = f": {first.column}" if first.column else ""
        raise TracekitError(f"{opened.name}, line {first.line}{column} {first.reason}")
    return rows
