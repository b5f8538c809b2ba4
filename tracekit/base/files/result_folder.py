"""Folders of results: Parquet frames beside a document that describes them.

Checksums of the files (CRC-32 and length) show whether a folder has the bytes that were written. A
CRC detects every flipped bit, and is computed several times as fast as any disk reads.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from isal.isal_zlib import crc32

from tracekit.base.errors import TracekitError
from tracekit.base.files.places import open_whole
from tracekit.base.files.replacing import put_back, replaced_folder, taken_over
from tracekit.base.opened import NoFileError, open_file, read_text

_BLOCK_BYTES = 1 << 20
#: Kinds of damage, and how each reads; ``found`` and ``written`` are numbers of bytes.
KINDS = {
    "gone": "it is gone",
    "empty": "it is empty, {written:,} bytes were written",
    "cut": "it ends after {found:,} of {written:,} bytes",
    "longer": "it has {found:,} bytes, {written:,} were written",
    "changed": "it holds other bytes than were written",
    "unreadable": "it cannot be read: {why}",
    "stands apart": "it is not what the manifest says",
}


@dataclass(frozen=True, kw_only=True)
class Damage:
    """A file of a folder that is missing, unreadable or has other bytes than were written.

    Attributes
    ----------
    path : the path of the file, relative to its folder
    kind : the kind of damage, a key of ``KINDS`` such as ``cut``
    found : the damage in words, such as 'it ends after 10 of 20 bytes'
    source_file : the trace file to ingest again in order to repair a store, or None
    """

    path: str
    kind: str
    found: str
    source_file: str | None = None


def checksum(path: Path) -> str:
    """Return the checksum of a file: ``crc32:<8 hex digits>:<bytes>``."""
    crc, size = 0, 0
    block = memoryview(bytearray(_BLOCK_BYTES))
    with open_whole(path) as file:
        while read := file.readinto(block):
            crc, size = crc32(block[:read], crc), size + read
    return f"crc32:{crc:08x}:{size}"


def damaged(
    folder: Path, checksums: Mapping[str, str], source_file: str | None = None
) -> Iterator[Damage]:
    """Yield the files of ``checksums`` that are missing or changed, in the order of ``checksums``.

    Every file is read to its end. The paths in ``checksums`` are relative to ``folder``.
    """
    for path, wanted in checksums.items():
        written = int(wanted.rpartition(":")[2])
        try:
            now = checksum(folder / path)
        except FileNotFoundError:
            yield as_damage(path, "gone", source_file)
            continue
        except OSError as error:
            yield as_damage(path, "unreadable", source_file, why=error.strerror or str(error))
            continue
        size = int(now.rpartition(":")[2])
        if now != wanted:
            short = "empty" if size == 0 else "cut"
            kind = "changed" if size == written else short if size < written else "longer"
            yield as_damage(path, kind, source_file, found=size, written=written)


def as_damage(path: str, kind: str, source_file: str | None = None, **numbers: object) -> Damage:
    """Return a Damage whose ``found`` is the text of ``KINDS[kind]``, filled with ``numbers``."""
    text = KINDS[kind].format(**numbers)
    return Damage(path=path, kind=kind, found=text, source_file=source_file)


#: What the document of a result is called, where it has no name of its own.
MANIFEST = "manifest.json"
#: The same of a study.
STUDY = "study.json"
#: What helps against damage of a result.
AGAIN = "make the folder again by the command that wrote it"
#: Files that hold wall-clock times: their bytes differ from run to run, so that no document has a
#: checksum of them. Each has one of its rows in its own schema.
_TIMED = {"timing.parquet"}
_OF_ROWS = b"tracekit_rows"


def kind_of(folder: Path) -> str:
    """Return the command that made a folder of results, such as ``bind``, by its manifest.

    Return an empty text if there is no manifest or it names no command.
    """
    try:
        document = json.loads(read_text(folder / MANIFEST))
    except (OSError, ValueError, RecursionError):
        return ""
    schema = document.get("schema") if isinstance(document, dict) else None
    made_by = str(schema or "").split("/")
    return made_by[1] if made_by[0] == "tracekit" and len(made_by) > 1 else ""


@dataclass(frozen=True, kw_only=True)
class ResultFolder:
    """A kind of result folder: Parquet files, and a JSON document that describes them.

    Parameters
    ----------
    what : str
        The name of the kind in messages: 'run folder', 'study'.
    schema : str
        The ``schema`` in the document of each folder of this kind, such as ``tracekit/study/1``.
    document : str
        The file name of the document.
    """

    what: str
    schema: str
    document: str = MANIFEST

    def holds(self, folder: Path) -> bool:
        """Return whether a folder has a document with the schema of this kind."""
        try:
            document = self.read(folder)
        except NoFileError:
            raise
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(document, dict) and document.get("schema") == self.schema

    def read(self, folder: Path) -> Any:
        """Return the document of a folder. Raise OSError or ValueError if there is none."""
        put_back(folder)
        return json.loads(read_text(folder / self.document))

    def sound(self, folder: Path) -> Any:
        """Check all files of a folder by their checksums, and return its document.

        Raises
        ------
        TracekitError
            For the first damaged file; the error names it.
        OSError, ValueError
            For a folder without a document.
        """
        document = self.read(folder)
        check_sound(folder)
        return document

    def check_free(self, folder: Path) -> None:
        """Raise TracekitError unless a path is missing, empty, or a folder of this kind."""
        put_back(folder)
        empty = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
        if not empty and not self.holds(folder):
            raise TracekitError(
                f"'{folder}' exists and is not a {self.what}, it is left as it is",
                hint="give another --out, or remove it first",
            )

    def write(
        self,
        folder: Path,
        document: Mapping[str, Any],
        frames: Mapping[str, pl.DataFrame | None],
        *,
        more: Callable[[Path], None] | None = None,
    ) -> None:
        """Write a folder atomically. It replaces an existing folder of this kind.

        The document also gets the schema, the names of all ``files``, and their checksums. Files
        that a user has put into the existing folder stay.

        Parameters
        ----------
        frames : mapping of str to DataFrame
            Written to ``NAME.parquet``; None is left out.
        more : callable, optional
            Writes further files into the folder that it is given.

        Raises
        ------
        TracekitError
            For a path with other content.
        """
        with self.writing(folder, document) as made:
            for name, frame in frames.items():
                if frame is not None:
                    _write(frame, made / f"{name}.parquet")
            if more is not None:
                more(made)

    @contextlib.contextmanager
    def writing(self, folder: Path, document: Mapping[str, Any]) -> Iterator[Path]:
        """Yield a temporary folder to fill. After the block it becomes ``folder``, as in ``write``.

        Nothing changes if the block raises an error. Raises TracekitError for a path with other
        content.
        """
        self.check_free(folder)
        with replaced_folder(folder) as made:
            yield made
            files = sorted(path.name for path in made.iterdir())
            sums = _checksums(made)
            written = {"schema": self.schema, **document, "files": files, "checksums": sums}
            text = json.dumps(sealed(written), indent=2, ensure_ascii=False, allow_nan=False)
            (made / self.document).write_text(text + "\n", encoding="utf-8")
            if folder.is_dir():
                self._keep_others(folder, made)

    def _keep_others(self, folder: Path, made: Path) -> None:
        """Take over the files of a folder that were not written with it."""
        entries = [path for path in folder.iterdir() if not (made / path.name).exists()]
        # the document of an older folder lists no files: all are its own
        own = (
            set(self.read(folder).get("files", [path.name for path in entries]))
            if entries
            else set()
        )
        taken_over((path for path in entries if path.name not in own), made)


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with a ``seal``: a hash of its content, which reveals any change."""
    return {**document, "seal": _seal(document)}


def is_sealed(document: Mapping[str, Any]) -> bool:
    """Return whether a document has a ``seal`` that matches its content."""
    return document.get("seal") == _seal(document)


def _seal(document: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in document.items() if name != "seal"}
    return _digest(json.dumps(rest, sort_keys=True))


def document_of(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """Return the path and the content of a result folder's document; None for any other folder.

    An unreadable document is returned as an empty one, which has no seal. A document with neither
    seal nor checksums, such as the one with a synthetic trace's true values, is passed over.
    """
    for name in (STUDY, MANIFEST):
        try:
            document = json.loads(read_text(folder / name))
        except OSError:
            continue
        except (ValueError, RecursionError):
            document = {}
        if isinstance(document, dict) and (not document or {"seal", "checksums"} & document.keys()):
            return folder / name, document
    return None


def damaged_results(
    folder: Path, name: str, document: Mapping[str, Any], checksums: Mapping[str, str]
) -> Iterator[Damage]:
    """Yield the damaged files of a result. If the document itself is damaged, yield it alone.

    Parameters
    ----------
    name : the file name of the document
    checksums : the checksums of files to check, as in the document
    """
    if not is_sealed(document):
        yield as_damage(name, "changed")
        return
    yield from damaged(folder, checksums)
    from pyarrow import ArrowException  # noqa: PLC0415 - slow to import
    from pyarrow.parquet import read_table  # noqa: PLC0415 - same

    for timed in sorted(_TIMED & set(document.get("files", ()))):
        try:
            table = read_table(folder / timed)
            table.validate(full=True)
            now = _of_rows(table)
        except FileNotFoundError:
            yield as_damage(timed, "gone")
        except (OSError, ArrowException, UnicodeDecodeError) as error:
            yield as_damage(timed, "unreadable", why=next(iter(str(error).splitlines()), ""))
        else:
            wanted = (table.schema.metadata or {}).get(_OF_ROWS)
            # one of before there were checksums has none
            if wanted is not None and wanted != now:
                yield as_damage(timed, "changed")


def check_sound(folder: Path) -> None:
    """Raise TracekitError for the first damaged file of a result folder."""
    path, document = document_of(folder) or (folder, {})
    # a document of before there were checksums says nothing of its files
    if "checksums" in document:
        for one in damaged_results(folder, path.name, document, document["checksums"]):
            raise TracekitError(f"{folder / one.path} is damaged: {one.found}", hint=AGAIN)


def _write(frame: pl.DataFrame, path: Path) -> None:
    if path.name in _TIMED:
        from pyarrow.parquet import write_table  # noqa: PLC0415 - slow to import

        table = frame.to_arrow()
        metadata = {_OF_ROWS: _of_rows(table)}
        write_table(table.replace_schema_metadata(metadata), path, compression="zstd")
    else:
        frame.write_parquet(path, compression="zstd")


def _of_rows(table: pa.Table) -> bytes:
    """A hash of the values of a table and of the names of its columns."""
    return _digest(json.dumps(table.to_pydict(), default=str)).encode()


def _checksums(folder: Path) -> dict[str, str]:
    """The checksum of each file of a folder, by its path in the folder."""
    return {
        path.relative_to(folder).as_posix(): checksum(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in _TIMED
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_frame(path: Path) -> pl.DataFrame:
    """Return a Parquet file as a frame.

    Arrow reads the file, because polars' own reader may end the whole program on damaged bytes.

    Raises
    ------
    OSError
        For a missing or unreadable file.
    polars.exceptions.ComputeError
        For a damaged file, and for a file that is no Parquet.
    """
    try:
        with open_file(path) as raw, pq.ParquetFile(raw) as file:
            table = file.read()
        table.validate(full=True)
        # what a writer notes about a column is for that writer; damaged, it ends polars
        plain = pa.schema([column.remove_metadata() for column in table.schema])
        return pl.DataFrame(pa.Table.from_arrays(table.columns, schema=plain))
    except (pa.ArrowException, UnicodeDecodeError, pl.exceptions.PanicException) as error:
        raise pl.exceptions.ComputeError(str(error)) from error
