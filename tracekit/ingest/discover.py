"""Which files of a folder are trace tables: by content and header, not by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.errors import TracekitError
from tracekit.ingest.blocks import lines_in_blocks
from tracekit.ingest.members import FileKind, HashingReader, damaged_as_error, file_kind, members
from tracekit.sources import Match, MissingColumnError, recognise

_LONGEST_HEADER = 1 << 16


@dataclass(frozen=True)
class TraceFile:
    """A file that holds a trace table: where it is, how it is packed, what its header says."""

    path: Path
    name: str
    kind: FileKind
    match: Match

    @property
    def size_bytes(self) -> int:
        """The file's size on disk."""
        return self.path.stat().st_size


@dataclass(frozen=True)
class Discovery:
    """What a folder holds: trace tables, and files that are none, each with the reason."""

    files: tuple[TraceFile, ...]
    passed_over: tuple[tuple[str, str], ...]


def discover(source: Path, *, release: str = "auto") -> Discovery:
    """The trace tables in a folder (searched whole) or single file, in natural order of names.

    Raises TracekitError when the path does not exist, when nothing in it is a trace table, and
    when a file is nearly one but lacks a column, or is damaged.
    """
    if not source.exists():
        raise TracekitError(
            f"no such file or folder: {source}",
            hint="give a trace file, a folder of them, or synth:small to try without data",
        )
    if source.is_file():
        return Discovery((_identify(source, source.name, release),), ())
    found, passed_over = [], []
    for path in sorted(_visible_files(source), key=lambda p: natural(str(p.relative_to(source)))):
        name = path.relative_to(source).as_posix()
        try:
            found.append(_identify(path, name, release))
        except _NotATableError as error:
            passed_over.append((name, error.what.removeprefix(f"{name}: ")))
    if not found:
        raise _nothing_found(source, passed_over)
    return Discovery(tuple(found), tuple(passed_over))


def natural(name: str) -> list[tuple[int, str]]:
    """A sort key under which part 10 follows part 9."""
    parts = [part for part in re.split(r"(\d+)", name) if part]
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


class _NotATableError(TracekitError):
    """A file that is no trace table at all; passed over in a folder."""


def _visible_files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            yield path


def _nothing_found(source: Path, passed_over: list[tuple[str, str]]) -> TracekitError:
    if not passed_over:
        return TracekitError(
            f"{source} is an empty folder, expected trace files",
            hint="put the .tar.gz, .csv, .csv.gz or .parquet files there",
        )
    name, reason = passed_over[0]
    more = f" (and {len(passed_over) - 1} more like it)" if len(passed_over) > 1 else ""
    return TracekitError(
        f"no trace tables in {source}: {name}: {reason}{more}",
        hint="known releases: tracekit list sources",
    )


def _identify(path: Path, name: str, release: str) -> TraceFile:
    kind = file_kind(path)
    problem = TracekitError("no file inside the archive", hint="expected a CSV in it")
    for header in _headers(path, kind):
        match = recognise(header, release=release)
        if isinstance(match, Match):
            return TraceFile(path=path, name=name, kind=kind, match=match)
        problem = match
    near = isinstance(problem, MissingColumnError)
    raise (TracekitError if near else _NotATableError)(f"{name}: {problem.what}", hint=problem.hint)


def _headers(path: Path, kind: FileKind) -> Iterator[list[str]]:
    """The first line of each member, as fields."""
    if kind == "parquet":
        yield _parquet_header(path)
        return
    with path.open("rb") as raw, damaged_as_error(path):
        for member in members(path, kind, HashingReader(raw)):
            first = next(lines_in_blocks(member.stream, _LONGEST_HEADER), b"")
            yield first.split(b"\n", 1)[0].decode(errors="replace").split(",")


def _parquet_header(path: Path) -> list[str]:
    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowInvalid, OSError) as error:
        raise TracekitError(
            f"{path.name} is truncated or corrupt: {error}", hint="fetch the file again"
        ) from error
