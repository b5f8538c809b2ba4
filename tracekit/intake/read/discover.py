"""Which files of a folder are trace tables: by content and header, not by name."""

import os
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from tracekit.base.errors import TracekitError
from tracekit.base.files.places import is_remote, open_head, parquet_file, store_error
from tracekit.base.files.result_folder import MANIFEST
from tracekit.base.opened import PARQUET_MAGIC, sort_of
from tracekit.intake.read.gunzip import Readable
from tracekit.intake.read.members import (
    FileKind,
    HashingReader,
    UnreadableError,
    damaged_as_error,
    file_kind,
    members,
)
from tracekit.intake.sources import (
    ClusterMatch,
    Head,
    Match,
    MissingColumnError,
    lacking,
    recognise,
    recognise_by_reader,
)

# Searches a whole folder: files, links to folders, and whatever is neither.


@dataclass
class Searched:
    """The result of a search; hidden names, which begin with a dot, are left out.

    Attributes
    ----------
    files : in no order
    others : what is no file, with what it is instead
    closed : folders that may not be read, with the system's reason
    """

    files: list[Path] = field(default_factory=list)
    others: list[tuple[Path, str]] = field(default_factory=list)
    closed: list[tuple[Path, str]] = field(default_factory=list)


def search(folder: Path) -> Searched:
    """Search a folder, and the folders in it; each once, however many links lead there."""
    if is_remote(folder):
        return Searched(files=[path for path in folder.rglob("*") if _is_seen(path, folder)])
    found = Searched()
    real = folder.resolve()
    # a link to a folder above would lead out of this one, and back into it
    seen = {_identity(one) for one in (real, *real.parents)}
    folders, links = deque([folder]), deque[Path]()
    while folders or links:
        here = folders.popleft() if folders else links.popleft()
        if here.is_symlink() and here != folder:
            if _identity(here) in seen:
                found.others.append((here, "a link to a folder that is searched already"))
                continue
            seen.add(_identity(here))
        for path in _listed(here, found):
            if path.is_file():
                found.files.append(path)
            elif not path.is_dir():
                found.others.append((path, what_it_is(path)))
            elif path.is_symlink():
                # real folders first: their files keep their real names
                links.append(path)
            else:
                seen.add(_identity(path))
                folders.append(path)
    return found


def what_it_is(path: Path) -> str:
    """What is at a path that is neither file nor folder."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return f"a link that leads nowhere ({error.strerror})"
    return sort_of(mode) or "no file"


def _is_seen(path: Path, folder: Path) -> bool:
    names = str(path.relative_to(folder)).split("/")
    return not any(name.startswith(".") for name in names) and path.is_file()


def _listed(folder: Path, found: Searched) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        found.closed.append((folder, error.strerror or str(error)))
        return []


def _identity(path: Path) -> tuple[int, int]:
    about = os.stat(path)  # noqa: PTH116 - as many as there are folders
    return about.st_dev, about.st_ino


_LONGEST_HEADER = 1 << 16
_ROWS_SHOWN = 5
#: How the parts of a table begin.
_PART = "part-"
#: What Spark writes beside the parts of a table: summaries that hold no rows.
_OF_SPARK = ("_metadata", "_common_metadata")
#: How files of tables end; an empty file of another name is a marker, such as ``_SUCCESS``.
_DATA = frozenset((
    ".csv", ".parquet", ".json", ".jsonl", ".ndjson", ".gz", ".tgz", ".tar", ".zip", ".xlsx",
    ".xls", ".swf", ".om", ".prom",
))  # fmt: skip


@dataclass(frozen=True)
class TraceFile:
    """A file that holds a trace table: where it is, how it is packed, what its header says.

    ``beside`` are the files of the same source that lie with it, for those that are read by code:
    the kind of each in one word, its path, its name. ``stored_sizes`` are the nodes that the store
    held before, each with its cores and bytes; ``stored`` what it held of somebody's own tables,
    each with the file it is set down in. ``together_bytes`` is the size of all files that are read
    in the same go.
    """

    path: Path
    name: str
    kind: FileKind
    match: Match
    beside: tuple[tuple[str, Path, str], ...] = ()
    stored_sizes: tuple[tuple[str, float, float], ...] = ()
    stored: tuple[tuple[str, Path], ...] = ()
    together_bytes: int = 0

    @property
    def size_bytes(self) -> int:
        """The file's size on disk."""
        return self.path.stat().st_size


@dataclass(frozen=True)
class Discovery:
    """What a folder holds.

    ``files`` are trace tables; ``passed_over`` files that are none, each with the reason;
    ``unreadable`` files that are damaged, each with its error.
    """

    files: tuple[TraceFile, ...]
    passed_over: tuple[tuple[str, str], ...] = ()
    unreadable: tuple[tuple[str, TracekitError], ...] = ()

    @property
    def size_bytes(self) -> int:
        """The size of all trace tables together."""
        return sum(file.size_bytes for file in self.files)


def check_exists(source: Path) -> None:
    """Raise TracekitError when there is no such file or folder."""
    if not source.exists():
        raise TracekitError(
            f"no such file or folder: {source}",
            hint="give a trace file, a folder of them, or synth:small to try without data",
        )


def discover(source: Path, *, release: str = "auto") -> Discovery:
    """The trace tables in a folder (searched whole) or single file, in natural order of names.

    Raises TracekitError when the path does not exist, when nothing in it is a trace table, and
    when a file is nearly one but lacks a column. A damaged file raises when it is all there is.
    """
    check_exists(source)
    if not source.is_dir() and not source.is_file():
        raise TracekitError(
            f"{source} is {what_it_is(source)}, expected a trace file or a folder of them",
            hint="write it to a file first; its content is read more than once",
        )
    if source.is_file():
        return Discovery((identify(source, _text(Path(source.name)), release),))
    there = search(source)
    found: list[TraceFile] = []
    hints: list[str | None] = []
    passed_over = [(_name(path, source), f"is {what}") for path, what in there.others]
    unreadable: list[tuple[str, TracekitError]] = [
        (_name(path, source), _closed(path, reason)) for path, reason in there.closed
    ]
    for path in sorted(there.files, key=lambda p: natural(_name(p, source))):
        name = _name(path, source)
        if path.name in _OF_SPARK or (path.suffix not in _DATA and path.stat().st_size == 0):
            passed_over.append((name, "is a marker, no table"))
            continue
        try:
            found.append(identify(path, name, release))
        except _NotATableError as error:
            hints.append(error.hint)
            passed_over.append((name, error.what.removeprefix(f"{name}: ")))
        except UnreadableError as error:
            unreadable.append((name, error))
    if not found:
        raise unreadable[0][1] if unreadable else _nothing_found(source, passed_over, hints)
    _one_of_each(source, found)
    return Discovery(_side_by_side(found), tuple(passed_over), tuple(unreadable))


def _one_of_each(source: Path, found: list[TraceFile]) -> None:
    """Raise where files lie together that would be merged into what none of them is."""
    kinds: dict[tuple[str, str], list[TraceFile]] = {}
    for file in found:
        if isinstance(file.match, ClusterMatch) and file.match.file.alone:
            kinds.setdefault((file.match.source.name, file.match.file.word), []).append(file)
    for (release, word), files in kinds.items():
        # a file beside the same one in gzip is one list: its content tells
        names = list(dict.fromkeys(file.name.removesuffix(".gz") for file in files))
        if len(names) > 1:
            more = f" and {len(names) - 2} more" if len(names) > 2 else ""
            raise TracekitError(
                f"{source} holds {len(names)} lists of {word} of {release}, each a problem of its"
                f" own: {names[0]}, {names[1]}{more}",
                hint="one of them to a store: move the others, or ingest the files one by one",
            )


def _side_by_side(found: list[TraceFile]) -> tuple[TraceFile, ...]:
    """The files, each of those that are read by code with the others of its source."""
    by_source: dict[str, tuple[tuple[str, Path, str], ...]] = {}
    for file in found:
        if isinstance(file.match, ClusterMatch):
            known = by_source.get(file.match.source.name, ())
            by_source[file.match.source.name] = (
                *known,
                (file.match.file.word, file.path, file.name),
            )
    return tuple(
        replace(file, beside=by_source[file.match.source.name])
        if isinstance(file.match, ClusterMatch)
        else file
        for file in found
    )


def _name(path: Path, source: Path) -> str:
    return _text(path.relative_to(source))


def _closed(folder: Path, reason: str) -> TracekitError:
    return TracekitError(
        f"{folder} cannot be searched: {reason}", hint="what is in it was not looked at"
    )


def _text(path: Path) -> str:
    """A path as the store names it: the same text in every locale."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


def natural(name: str) -> list[tuple[int, str]]:
    """A sort key under which part 10 follows part 9."""
    parts = [part for part in re.split(r"(\d+)", name) if part]
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


class _NotATableError(TracekitError):
    """A file that is no trace table at all; passed over in a folder."""


def _nothing_found(
    source: Path, passed_over: list[tuple[str, str]], hints: list[str | None]
) -> TracekitError:
    if not passed_over:
        return TracekitError(
            f"{source} is an empty folder, expected trace files",
            hint="put the .tar.gz, .csv, .csv.gz or .parquet files of a trace there, or of your own"
            " cluster what kubectl get nodes,pods -A -o json prints and answers of Prometheus",
        )
    if (source / "store" / MANIFEST).is_file():
        return TracekitError(
            f"{source} is what tracekit run made of a trace, and no trace",
            hint=f"its store is {source / 'store'}",
        )
    name, reason = passed_over[0]
    more = f" (and {len(passed_over) - 1} more like it)" if len(passed_over) > 1 else ""
    # it is told what helps them where that is the same of all
    own = hints[0] if len(set(hints)) == 1 and len(hints) == len(passed_over) else None
    return TracekitError(
        f"no trace tables in {source}: {name}: {reason}{more}",
        hint=own or "known releases: tracekit list sources",
    )


def identify(path: Path, name: str, release: str) -> TraceFile:
    """The trace table in a file, called ``name`` in messages; raises as ``discover`` does."""
    kind = file_kind(path)
    problem = TracekitError("no file inside the archive", hint="expected a CSV in it")
    for head, (header, *rows) in _heads(path, kind):
        match = recognise(header, rows=rows, release=release)
        if not isinstance(match, Match):
            # a file that is no table by its own name may be a part of the table that its folder is
            heads = (head, *_as_parts(path, head))
            found = [recognise_by_reader(one, release=release) for one in heads]
            named = heads if path.name.startswith(_PART) else heads[:1]
            lacks = [lacking(one, release=release) for one in named]
            match = next((one for one in (*found, *lacks) if one is not None), match)
        if isinstance(match, Match):
            return TraceFile(path=path, name=name, kind=kind, match=match)
        problem = match
    near = isinstance(problem, MissingColumnError)
    raise (TracekitError if near else _NotATableError)(f"{name}: {problem.what}", hint=problem.hint)


def _as_parts(path: Path, head: Head) -> Iterator[Head]:
    """The file as a part of a table that a folder is: NAME.parquet/ or NAME/ as Spark writes it.

    Folders of partitions, ``day=1``, lie between.
    """
    folder = next((one for one in path.resolve().parents if "=" not in one.name), path.parent)
    form = ".parquet" if head.columns else ".csv"
    if folder.name:
        yield replace(head, name=f"{folder.name.removesuffix(form)}.part-0{form}")


def head_of(path: Path, name: str) -> Head:
    """How a file that is neither packed nor Parquet begins."""
    with open_head(path) as raw:
        return Head(name=Path(name).name, start=raw.read(_LONGEST_HEADER))


def _heads(path: Path, kind: FileKind) -> Iterator[tuple[Head, list[list[str]]]]:
    """How each member begins, and its first lines as fields: header, rows that show the ids."""
    if kind == "parquet":
        fields = _parquet_head(path)
        yield Head(name=path.name, start=PARQUET_MAGIC, columns=tuple(fields[0])), fields
        return
    with open_head(path) as raw, damaged_as_error(path):
        for member in members(path, kind, HashingReader(raw)):
            start = start_of(member.stream)
            lines = start.split(b"\n", _ROWS_SHOWN + 1)[: _ROWS_SHOWN + 1]
            if len(start) == _LONGEST_HEADER and start.count(b"\n") < len(lines):
                lines = lines[:-1] or lines
            fields = [line.decode(errors="replace").split(",") for line in lines]
            yield Head(name=member.name, start=start), fields


def start_of(stream: Readable) -> bytes:
    """The part of a file that a ``Head`` shows."""
    start = b""
    while len(start) < _LONGEST_HEADER and (data := stream.read(_LONGEST_HEADER - len(start))):
        start += data
    return start


def _parquet_head(path: Path) -> list[list[str]]:
    try:
        with parquet_file(path) as file:
            names = list(file.schema_arrow.names)
            batch = next(file.iter_batches(_ROWS_SHOWN), None)
    except (pa.ArrowInvalid, OSError) as error:
        raise store_error(error) or UnreadableError(
            f"{path.name} is truncated or corrupt: {error}", hint="fetch the file again"
        ) from error
    shown = [_texts(column) for column in batch.columns] if batch is not None else []
    return [names, *map(list, zip(*shown, strict=True))]


def _texts(column: pa.Array) -> list[str]:
    try:
        return [str(value) for value in column.to_pylist()]
    except (ValueError, OverflowError, pa.ArrowException):
        # Python has no such value, for example a timestamp of the year 100000
        return [""] * len(column)
