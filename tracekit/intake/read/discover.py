"""Which files of a folder are trace tables: content and header decide, not the name."""

import os
import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from tracekit.base.errors import TracekitError
from tracekit.base.files.places import is_remote, open_head, parquet_file, store_error
from tracekit.base.files.result_folder import MANIFEST
from tracekit.base.opened import PARQUET_MAGIC, sort_of
from tracekit.intake.read.blocks import Readable, pieces_of
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

# The search of a whole folder: files, links to folders, and all other paths.


@dataclass
class Searched:
    """All paths below a folder, without names that begin with a dot; see ``search``.

    Attributes
    ----------
    files : in no order
    others : paths that are not searched, such as pipes and broken links, each with a description
    closed : folders that may not be read, each with the system's reason
    """

    files: list[Path] = field(default_factory=list)
    others: list[tuple[Path, str]] = field(default_factory=list)
    closed: list[tuple[Path, str]] = field(default_factory=list)


def search(folder: Path) -> Searched:
    """Return the paths below a folder; it lists each subfolder once, even if links lead to it."""
    if is_remote(folder):
        return Searched(files=[path for path in folder.rglob("*") if _is_seen(path, folder)])
    searched = Searched()
    real = folder.resolve()
    # a link to a folder above leads back into this one
    seen = {_identity(one) for one in (real, *real.parents)}
    folders, links = deque([folder]), deque[Path]()
    while folders or links:
        here = folders.popleft() if folders else links.popleft()
        if here.is_symlink() and here != folder:
            if _identity(here) in seen:
                searched.others.append((here, "a link to a folder that is searched already"))
                continue
            seen.add(_identity(here))
        for path in _listed(here, searched):
            if path.is_file():
                searched.files.append(path)
            elif not path.is_dir():
                searched.others.append((path, what_it_is(path)))
            elif path.is_symlink():
                # real folders come first, so that their files keep their real names
                links.append(path)
            else:
                seen.add(_identity(path))
                folders.append(path)
    return searched


def what_it_is(path: Path) -> str:
    """Return a description of a path that is neither file nor folder."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return f"a link that leads nowhere ({error.strerror})"
    return sort_of(mode) or "no file"


def _is_seen(path: Path, folder: Path) -> bool:
    names = str(path.relative_to(folder)).split("/")
    return not any(name.startswith(".") for name in names) and path.is_file()


def _listed(folder: Path, searched: Searched) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        searched.closed.append((folder, error.strerror or str(error)))
        return []


def _identity(path: Path) -> tuple[int, int]:
    about = os.stat(path)  # noqa: PTH116 - as many as there are folders
    return about.st_dev, about.st_ino


_LONGEST_HEADER = 1 << 16
_ROWS_SHOWN = 5
#: The beginning of the names of a table's parts.
_PART = "part-"
#: Summaries that Spark writes beside the parts of a table; they hold no rows.
_OF_SPARK = ("_metadata", "_common_metadata")
#: The endings of table files; an empty file with another ending is a marker, such as ``_SUCCESS``.
_DATA = frozenset((
    ".csv", ".parquet", ".json", ".jsonl", ".ndjson", ".gz", ".tgz", ".tar", ".zip", ".xlsx",
    ".xls", ".swf", ".om", ".prom",
))  # fmt: skip


@dataclass(frozen=True)
class TraceFile:
    """A file that holds a trace table, and all that an ingest has to know to read it.

    Attributes
    ----------
    path, name : the path of the file, and its name in the store and in messages
    kind, match : the packing of the file, and the table that its header matches
    beside : if a source's own reader reads the file, the files of this source in the same folder,
        each with its kind, path and name
    stored_sizes : the nodes that the store already has, each as (node, cores, bytes)
    stored : rows that the store already has, each as (table, file to which they are written)
    together_bytes : the size of all files of the same ingest
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
    """The files below a folder, sorted into trace tables and others; see ``discover``.

    Attributes
    ----------
    files : trace tables
    passed_over : files that are no trace tables, each with the reason
    unreadable : damaged files, each with its error
    """

    files: tuple[TraceFile, ...]
    passed_over: tuple[tuple[str, str], ...] = ()
    unreadable: tuple[tuple[str, TracekitError], ...] = ()

    @property
    def size_bytes(self) -> int:
        """The size of all trace tables together."""
        return sum(file.size_bytes for file in self.files)


def check_exists(source: Path) -> None:
    """Raise TracekitError if the file or folder does not exist."""
    if not source.exists():
        raise TracekitError(
            f"no such file or folder: {source}",
            hint="give a trace file, a folder of them, or synth:small to try without data",
        )


def discover(source: Path, *, release: str = "auto") -> Discovery:
    """Return the trace tables in a file, or in a folder and its subfolders, in natural order.

    Raises
    ------
    TracekitError
        If the path does not exist, if nothing in it is a trace table, or if a file lacks one
        column of a trace table. A damaged file raises only if the folder has no trace table.
    """
    check_exists(source)
    if not source.is_dir() and not source.is_file():
        raise TracekitError(
            f"{source} is {what_it_is(source)}, expected a trace file or a folder of them",
            hint="write it to a file first; its content is read more than once",
        )
    if source.is_file():
        return Discovery((identify(source, _text(Path(source.name)), release),))
    listing = search(source)
    trace_files: list[TraceFile] = []
    hints: list[str | None] = []
    passed_over = [(_name(path, source), f"is {what}") for path, what in listing.others]
    unreadable: list[tuple[str, TracekitError]] = [
        (_name(path, source), _closed(path, reason)) for path, reason in listing.closed
    ]
    for path in sorted(listing.files, key=lambda p: natural(_name(p, source))):
        name = _name(path, source)
        if path.name in _OF_SPARK or (path.suffix not in _DATA and path.stat().st_size == 0):
            passed_over.append((name, "is a marker, no table"))
            continue
        try:
            trace_files.append(identify(path, name, release))
        except _NotATableError as error:
            hints.append(error.hint)
            passed_over.append((name, error.what.removeprefix(f"{name}: ")))
        except UnreadableError as error:
            unreadable.append((name, error))
    if not trace_files:
        raise unreadable[0][1] if unreadable else _nothing_found(source, passed_over, hints)
    _one_of_each(source, trace_files)
    return Discovery(_side_by_side(trace_files), tuple(passed_over), tuple(unreadable))


def _one_of_each(source: Path, trace_files: list[TraceFile]) -> None:
    """Raise TracekitError if a folder holds two lists that a store cannot hold together."""
    kinds: dict[tuple[str, str], list[TraceFile]] = {}
    for file in trace_files:
        if isinstance(file.match, ClusterMatch) and file.match.file.alone:
            kinds.setdefault((file.match.source.name, file.match.file.word), []).append(file)
    for (release, word), files in kinds.items():
        # a file and the same file in gzip are one list
        names = list(dict.fromkeys(file.name.removesuffix(".gz") for file in files))
        if len(names) > 1:
            more = f" and {len(names) - 2} more" if len(names) > 2 else ""
            raise TracekitError(
                f"{source} holds {len(names)} lists of {word} of {release}, each a problem of its"
                f" own: {names[0]}, {names[1]}{more}",
                hint="one of them to a store: move the others, or ingest the files one by one",
            )


def _side_by_side(files: list[TraceFile]) -> tuple[TraceFile, ...]:
    """The files; each file that code reads gets the list of all files of its source."""
    by_source: defaultdict[str, list[tuple[str, Path, str]]] = defaultdict(list)
    for file in files:
        if isinstance(file.match, ClusterMatch):
            one = (file.match.file.word, file.path, file.name)
            by_source[file.match.source.name].append(one)
    return tuple(
        replace(file, beside=tuple(by_source[file.match.source.name]))
        if isinstance(file.match, ClusterMatch)
        else file
        for file in files
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
    """Return a sort key for natural order, in which "part-9" comes before "part-10"."""
    parts = [part for part in re.split(r"(\d+)", name) if part]
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


class _NotATableError(TracekitError):
    """The file is no trace table; in a folder it is passed over."""


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
    # a hint that all files share is shown
    own = hints[0] if len(set(hints)) == 1 and len(hints) == len(passed_over) else None
    return TracekitError(
        f"no trace tables in {source}: {name}: {reason}{more}",
        hint=own or "known releases: tracekit list sources",
    )


def identify(path: Path, name: str, release: str) -> TraceFile:
    """Return the trace table in a file, called ``name`` in messages. Raise as ``discover`` does."""
    kind = file_kind(path)
    problem = TracekitError("no file inside the archive", hint="expected a CSV in it")
    for head, (header, *rows) in _heads(path, kind):
        match = recognise(header, rows=rows, release=release)
        if not isinstance(match, Match):
            # the file may also be a part of the table that its folder is named after
            heads = (head, *_as_parts(path, head))
            matches = [recognise_by_reader(one, release=release) for one in heads]
            named = heads if path.name.startswith(_PART) else heads[:1]
            lacks = [lacking(one, release=release) for one in named]
            match = next((one for one in (*matches, *lacks) if one is not None), match)
        if isinstance(match, Match):
            return TraceFile(path=path, name=name, kind=kind, match=match)
        problem = match
    lacks_column = isinstance(problem, MissingColumnError)
    raise (TracekitError if lacks_column else _NotATableError)(
        f"{name}: {problem.what}", hint=problem.hint
    )


def _as_parts(path: Path, head: Head) -> Iterator[Head]:
    """The same head under the name TABLE.part-0.csv, if the folder's name may be a table's.

    Spark writes a table as a folder of parts: TABLE.parquet/ or TABLE/. Folders of partitions,
    ``day=1``, may lie between the table's folder and the file.
    """
    folder = next((one for one in path.resolve().parents if "=" not in one.name), path.parent)
    form = ".parquet" if head.columns else ".csv"
    if folder.name:
        yield replace(head, name=f"{folder.name.removesuffix(form)}.part-0{form}")


def head_of(path: Path, name: str) -> Head:
    """Return a plain file's name and first bytes; the file is neither packed nor Parquet."""
    with open_head(path) as raw:
        return Head(name=Path(name).name, start=raw.read(_LONGEST_HEADER))


def _heads(path: Path, kind: FileKind) -> Iterator[tuple[Head, list[list[str]]]]:
    """The first bytes of each member, and its first lines as fields: the header and some rows."""
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
    """Return the first bytes of a stream, at most 64 KiB, by which a source is recognised."""
    return b"".join(pieces_of(stream, _LONGEST_HEADER))


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
        # Python cannot represent the value, for example a timestamp of the year 100000
        return [""] * len(column)
