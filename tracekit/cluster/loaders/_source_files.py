"""Files of a published workload, in a folder, a zip or alone, with the readers of its source."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from zipfile import is_zipfile

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.opened import is_file, open_file
from tracekit.intake.sources._cluster import Broken, Head, Opened
from tracekit.intake.sources._rows import Delimited, Rule, frames, missing, refuse
from tracekit.intake.sources._zipped import HEAD_BYTES, unreadable_as_error, zipped

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


def headed(*names: str) -> Callable[[Head], bool]:
    """Knows a file by the columns that its first line names."""
    return lambda head: set(names) <= set(head.fields())


def header(opened: Opened) -> list[str]:
    """The names in the first line."""
    with opened.stream() as stream:
        first = stream.readline(1 << 20).decode(errors="replace")
    return [name.strip().strip('"') for name in first.removeprefix("\ufeff").split(",")]


def named(
    opened: Opened,
    texts: Sequence[str],
    numbers: Sequence[str],
    table: str,
    *,
    empty: Sequence[str] = ("", "nan"),
) -> Iterator[tuple[pl.DataFrame, list[Broken]]]:
    """The rows of a file whose first line names its columns; those not asked for are left out.

    Rejects show lines as they stand, with what is left out.
    """
    wanted = {*texts, *numbers}
    columns = [name if name in wanted else "" for name in header(opened)]
    yield from frames(
        opened,
        Delimited(
            columns=columns,
            numbers=numbers,
            header=True,
            table=table,
            empty=empty,
        ),
    )


def together(
    parts: Iterator[tuple[pl.DataFrame, list[Broken]]],
) -> tuple[pl.DataFrame, list[Broken]]:
    """Rows that come in parts, at once. A file that is known by its lines has some."""
    made, broken = zip(*parts, strict=True)
    return pl.concat(made), [one for some in broken for one in some]


def whole(opened: Opened, form: Delimited) -> tuple[pl.DataFrame, list[Broken]]:
    """All rows of a file at once; for tables that are small."""
    return together(frames(opened, form))
