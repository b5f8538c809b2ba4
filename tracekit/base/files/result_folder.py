"""Folders of results: Parquet frames beside a document that says what they are.

By checksums of its files, CRC-32 and length, a folder is known to hold what was written: no flipped
bit escapes a CRC, and the processor computes it at several times the speed of any disk.
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
    """A file that is not what was written.

    Attributes
    ----------
    path : relative to its folder
    kind : of ``KINDS``
    found : the kind in words, with its numbers
    source_file : the trace file to ingest again; None where any ingest mends it, or none does
    """

    path: str
    kind: str
    found: str
    source_file: str | None = None


def checksum(path: Path) -> str:
    """The checksum of a file: ``crc32:<8 hex digits>:<bytes>``."""
    crc, size = 0, 0
    block = memoryview(bytearray(_BLOCK_BYTES))
    with open_whole(path) as file:
        while read := file.readinto(block):
            crc, size = crc32(block[:read], crc), size + read
    return f"crc32:{crc:08x}:{size}"


def damaged(
    folder: Path, checksums: Mapping[str, str], source_file: str | None = None
) -> Iterator[Damage]:
    """The files, by their paths in the folder, that are gone or changed; all of them are read."""
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
        found = int(now.rpartition(":")[2])
        if now != wanted:
            short = "empty" if found == 0 else "cut"
            kind = "changed" if found == written else short if found < written else "longer"
            yield as_damage(path, kind, source_file, found=found, written=written)


def as_damage(path: str, kind: str, source_file: str | None = None, **told: object) -> Damage:
    """A damage of a kind, with what its words need."""
    found = KINDS[kind].format(**told)
    return Damage(path=path, kind=kind, found=found, source_file=source_file)


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
    """What made a folder of results by its manifest, as ``bind``; empty where that is not told."""
    try:
        found = json.loads(read_text(folder / MANIFEST))
    except (OSError, ValueError, RecursionError):
        return ""
    schema = found.get("schema") if isinstance(found, dict) else None
    made_by = str(schema or "").split("/")
    return made_by[1] if made_by[0] == "tracekit" and len(made_by) > 1 else ""


@dataclass(frozen=True, kw_only=True)
class ResultFolder:
    """A kind of folder, known by the schema that its document names.

    Parameters
    ----------
    what : str
        The kind as messages name it: 'run folder', 'study'.
    document : str
        The name of the document's file.
    """

    what: str
    schema: str
    document: str = MANIFEST

    def holds(self, folder: Path) -> bool:
        """Whether a folder is of this kind."""
        try:
            found = self.read(folder)
        except NoFileError:
            raise
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(found, dict) and found.get("schema") == self.schema

    def read(self, folder: Path) -> Any:
        """The document of a folder; raises OSError or ValueError where it has none."""
        put_back(folder)
        return json.loads(read_text(folder / self.document))

    def sound(self, folder: Path) -> Any:
        """The document of a folder, all of whose files are what was written.

        Raises
        ------
        TracekitError
            For the first file that is not; names it.
        OSError, ValueError
            When there is no document.
        """
        document = self.read(folder)
        check_sound(folder)
        return document

    def check_free(self, folder: Path) -> None:
        """Raise TracekitError unless nothing is there, or a folder of this kind to be replaced."""
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
        """Write the folder, whole or not at all; one of its kind that is there is replaced.

        The document is written with the names of all ``files``; what else somebody has put into
        the folder since stays there. ``more`` writes what is neither document nor frame into the
        folder it is given; a frame that is None is left out.

        Raises
        ------
        TracekitError
            When the path holds something else.
        """
        with self.writing(folder, document) as made:
            for name, frame in frames.items():
                if frame is not None:
                    _write(frame, made / f"{name}.parquet")
            if more is not None:
                more(made)

    @contextlib.contextmanager
    def writing(self, folder: Path, document: Mapping[str, Any]) -> Iterator[Path]:
        """A folder to write files into; with the document it takes its place if all goes well.

        Raises TracekitError when the path holds something else.
        """
        self.check_free(folder)
        with replaced_folder(folder) as made:
            yield made
            files = sorted(path.name for path in made.iterdir())
            sums = _checksums(made)
            told = {"schema": self.schema, **document, "files": files, "checksums": sums}
            text = json.dumps(sealed(told), indent=2, ensure_ascii=False, allow_nan=False)
            (made / self.document).write_text(text + "\n", encoding="utf-8")
            if folder.is_dir():
                self._keep_others(folder, made)

    def _keep_others(self, folder: Path, made: Path) -> None:
        """Take over what is in a folder but was not written with it."""
        there = [path for path in folder.iterdir() if not (made / path.name).exists()]
        # a folder that does not say which files are its own came before they were listed: all are
        own = set(self.read(folder).get("files", [path.name for path in there])) if there else set()
        taken_over((path for path in there if path.name not in own), made)


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document with a hash of itself, by which it is known to be what was written."""
    return {**document, "seal": _seal(document)}


def is_sealed(document: Mapping[str, Any]) -> bool:
    """Whether a document is what was written; False as well for one of before there were seals."""
    return document.get("seal") == _seal(document)


def _seal(document: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in document.items() if name != "seal"}
    return _digest(json.dumps(rest, sort_keys=True))


def document_of(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """The document of a folder of results, and its path; None where the folder is none.

    A document that cannot be read is empty, and so has no seal. One without seal and checksums, as
    that of a made-up trace's truth, is of no result.
    """
    for name in (STUDY, MANIFEST):
        try:
            found = json.loads(read_text(folder / name))
        except OSError:
            continue
        except (ValueError, RecursionError):
            found = {}
        if isinstance(found, dict) and (not found or {"seal", "checksums"} & found.keys()):
            return folder / name, found
    return None


def damaged_results(
    folder: Path, name: str, document: Mapping[str, Any], checksums: Mapping[str, str]
) -> Iterator[Damage]:
    """The files of a result that are not what was written, its document first.

    Parameters
    ----------
    name : of the file of the document
    checksums : those of the document that are to be looked at
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
    """Raise TracekitError for the first file of a result that is not what was written."""
    path, document = document_of(folder) or (folder, {})
    # a document of before there were checksums says nothing of its files
    if "checksums" in document:
        for one in damaged_results(folder, path.name, document, document["checksums"]):
            raise TracekitError(f"{folder / one.path} is damaged: {one.found}", hint=AGAIN)


def _write(frame: pl.DataFrame, path: Path) -> None:
    if path.name in _TIMED:
        from pyarrow.parquet import write_table  # noqa: PLC0415 - slow to import

        table = frame.to_arrow()
        told = {_OF_ROWS: _of_rows(table)}
        write_table(table.replace_schema_metadata(told), path, compression="zstd")
    else:
        frame.write_parquet(path, compression="zstd")


def _of_rows(table: pa.Table) -> bytes:
    """A hash of what a table holds, with the names of its columns."""
    return _digest(json.dumps(table.to_pydict(), default=str)).encode()


def _checksums(folder: Path) -> dict[str, str]:
    """The checksum of each file of a folder, by its path there."""
    return {
        path.relative_to(folder).as_posix(): checksum(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in _TIMED
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_frame(path: Path) -> pl.DataFrame:
    """A Parquet file as a frame.

    Arrow reads it: where bytes are damaged, polars' own reader may end the whole program.

    Raises
    ------
    OSError
        When it is not there or cannot be read.
    polars.exceptions.ComputeError
        When it is damaged, or no Parquet at all.
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
