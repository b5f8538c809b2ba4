"""CSV files of published workloads, in a folder, a zip or alone: found by what they hold."""

import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tracekit.errors import TracekitError
from tracekit.opened import is_file, read_bytes

_HEAD_BYTES = 65_536
#: What unpacking a damaged, encrypted or strangely packed member raises.
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
)


@dataclass(frozen=True, kw_only=True)
class CsvFile:
    """A CSV on disk or in a zip.

    Parameters
    ----------
    name : str
        Its file name, for errors.
    first : str
        Its first line.
    """

    path: Path
    member: str | None
    name: str
    first: str

    def read(self) -> bytes:
        """All of it."""
        if self.member is None:
            return read_bytes(self.path)
        try:
            with zipfile.ZipFile(self.path) as archive:
                return archive.read(self.member)
        except _UNREADABLE as error:
            raise TracekitError(
                f"{self.path.name}: {self.member} cannot be unpacked: {error}",
                hint="the archive is damaged, fetch it again",
            ) from None


def csv_files(path: Path) -> list[CsvFile]:
    """The CSV files at a path, in order of their names; other files are passed over."""
    if path.is_dir():
        return [file for one in sorted(path.iterdir()) for file in _files_of(one)]
    return list(_files_of(path))


def _files_of(path: Path) -> Iterator[CsvFile]:
    if is_file(path) and zipfile.is_zipfile(path):
        yield from _members(path)
    elif is_file(path) and path.suffix == ".csv":
        with path.open("rb") as stream:
            yield _file(path, None, stream.read(_HEAD_BYTES))


def _members(path: Path) -> Iterator[CsvFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            for member in sorted(archive.namelist()):
                if member.endswith(".csv"):
                    with archive.open(member) as stream:
                        yield _file(path, member, stream.read(_HEAD_BYTES))
    except _UNREADABLE:
        return  # a damaged member is nobody's workload; the caller says which files are missing


def _file(path: Path, member: str | None, head: bytes) -> CsvFile:
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace").strip().lstrip("\ufeff")
    name = Path(member).name if member else path.name
    return CsvFile(path=path, member=member, name=name, first=first)


def frame(
    file: CsvFile, schema: dict[str, type[pl.DataType]], *, header: bool, nullable: frozenset[str]
) -> pl.DataFrame:
    """The columns of a CSV under these names; raises TracekitError for a value that is none.

    Parameters
    ----------
    header : bool
        Whether the first line names the columns; otherwise ``schema`` is in order of the columns.
    nullable : frozenset of str
        Columns that may be empty.
    """
    try:
        text = pl.read_csv(
            io.BytesIO(file.read()),
            has_header=header,
            new_columns=None if header else list(schema),
            infer_schema=False,
        )
    except pl.exceptions.PolarsError as error:
        first = str(error).partition("\n")[0]
        raise TracekitError(f"{file.name} is not the CSV expected: {first}") from None
    missing = [name for name in schema if name not in text.columns]
    if missing:
        raise TracekitError(
            f"{file.name} has no column {', '.join(missing)}; it has: {', '.join(text.columns)}"
        )
    made = text.select(
        pl.col(name).str.strip_chars().replace("", None).cast(kind, strict=False)
        for name, kind in schema.items()
    )
    for name in schema:
        _check(file, name, text[name], made[name], nullable=name in nullable, header=header)
    return made


def _check(
    file: CsvFile, name: str, text: pl.Series, made: pl.Series, *, nullable: bool, header: bool
) -> None:
    lost = made.is_null()
    if made.dtype.is_float():
        lost |= made.is_nan() | made.is_infinite()
    if nullable:
        lost &= text.is_not_null() & (text.str.strip_chars() != "")
    if lost.any():
        at = int(lost.arg_max() or 0)
        found = "nothing" if not text[at] else f"'{text[at]}'"
        kind = "text" if made.dtype == pl.String else "a number"
        raise TracekitError(
            f"{file.name}, line {at + 1 + header}: {name} is {found}, expected {kind}"
        )
