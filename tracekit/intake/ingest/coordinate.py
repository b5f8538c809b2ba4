"""Takes files into a store: workers read several files at once, and files are committed in order.

Ids get their keys, and files are committed, strictly in the order of the files. So the store's
bytes do not depend on the number of workers. A killed run leaves the first files in the store, and
nothing of the later files.
"""

import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tracekit.base.crew import Crew, LostWorkerError
from tracekit.base.errors import CheckFailedError, TracekitError
from tracekit.base.files.durable import put
from tracekit.base.files.result_folder import checksum
from tracekit.base.words import counted
from tracekit.intake.ingest.contradictions import without_contradictions
from tracekit.intake.ingest.dimensions import Dimension, committed, extend
from tracekit.intake.ingest.sort import Written
from tracekit.intake.ingest.stage import SortTask, StageTask
from tracekit.intake.ingest.staged import Staged
from tracekit.intake.read.discover import TraceFile
from tracekit.store.folder import (
    DERIVED,
    STAGING,
    Defect,
    Manifest,
    SourceEntry,
    Store,
    dimension_path,
    part_path,
    rejects_path,
)
from tracekit.store.stored_rows import OWN, STATED
from tracekit.store.tables import all_tables


def _entry(
    file: TraceFile, staged: Staged, written: Written, part: int, checksums: dict[str, str]
) -> SourceEntry:
    """The manifest's entry for a file; the file's rows are part number ``part`` of the table."""
    return SourceEntry(
        file=file.name,
        size_bytes=file.size_bytes,
        sha256=staged.reading.sha256,
        content=staged.content,
        release=staged.release,
        table=staged.table,
        part=part,
        rows_read=staged.rows_read,
        rows=written.rows,
        rejected=staged.rejected,
        duplicates_dropped=written.exact_duplicates + written.key_duplicates,
        time_min_ms=written.time_min_ms,
        time_max_ms=written.time_max_ms,
        defects=tuple(_defects(staged, written)),
        checksums=checksums,
        lines_read=staged.lines_read,
    )


def _defects(staged: Staged, written: Written) -> Iterator[Defect]:
    counts, table = staged.reading.counts, all_tables()[staged.table]
    kinds = {column.name: column for column in table.columns}
    for (column, spelling), rows in sorted(counts.missing.items()):
        number = column in kinds and kinds[column].kind == "number"
        yield Defect(
            defect="missing_value" if number else "missing_name",
            column=column,
            rows=rows,
            action="kept as NULL",
            example=spelling or "(empty)",
        )
    # a derived fraction is above 1 if use is above the request, which is no defect
    above = {} if staged.release == DERIVED else counts.above
    for column, rows in sorted(above.items()):
        usual = kinds[column].usual_maximum
        yield Defect(
            defect="out_of_range", column=column, rows=rows, action="kept", example=f"> {usual:g}"
        )
    if written.exact_duplicates:
        yield _duplicates("exact_duplicate", written.exact_duplicates, written.duplicate_line)
    if written.key_duplicates:
        yield _duplicates("conflicting_duplicate", written.key_duplicates, written.conflict_line)
    yield from staged.reject_defects


def _duplicates(defect: str, rows: int, line: int | None) -> Defect:
    return Defect(
        defect=defect, column="", rows=rows, action="dropped, first kept", example=f"line {line}"
    )


#: The manifest is written at most this often, because each write waits for the disk.
_NAMED_EVERY_S = 1.0
#: Called with the bytes of a file that are done, and a line about the file.
Advance = Callable[[float, str], None]


def _raised(_: str, error: TracekitError) -> None:
    raise error


@dataclass
class Events:
    """Callbacks of a ``Coordinator``, which calls them in the order of the files.

    Attributes
    ----------
    committed : called with the entries of committed files, one per table, and the manifest that
        names them; it writes the manifest
    already_stored : called with a file's name if the store has the same content, and with the name
        of the stored file
    failed : called with the name of a file that cannot be read, and the error; by default it raises
        the error
    check : raises CheckFailedError if a file must not be stored
    """

    committed: Callable[[tuple[SourceEntry, ...], Manifest], None]
    already_stored: Callable[[str, str], None] = lambda *_: None
    failed: Callable[[str, TracekitError], None] = _raised
    check: Callable[[TraceFile, Sequence[Staged]], None] = lambda *_: None


@dataclass
class _Flight:
    """A file that is being read or sorted."""

    file: TraceFile
    staging: Future[tuple[Staged, ...]]
    folder: Path
    staged: tuple[Staged, ...] = ()
    #: New ids: the entity, their file, the first key, the number of ids including the new ones.
    longer: list[tuple[str, Path, int, int]] = field(default_factory=list)
    sorting: list[Future[Written]] = field(default_factory=list)


@dataclass
class _Due:
    """Finished files that the manifest does not name yet.

    Attributes
    ----------
    moves : the place in the store of each finished file, by its path in a staging folder
    ids : entities and the files of their new ids
    since_s : the time of the last write of the manifest, on the monotonic clock
    """

    moves: dict[Path, Path] = field(default_factory=dict)
    ids: list[tuple[str, Path]] = field(default_factory=list)
    entries: list[SourceEntry] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    since_s: float = field(default_factory=time.monotonic)


class Coordinator:
    """Reads, sorts and commits trace files into the store in ``folder``, which the caller locks."""

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        crew: Crew,
        sort_memory_bytes: int,
        events: Events,
        *,
        taken: Sequence[SourceEntry] = (),
        target: Path | None = None,
    ) -> None:
        """Prepare to take files in.

        Parameters
        ----------
        taken : entries that ``manifest`` lacks and whose part numbers must not be used
        target : the store's own folder, if ``folder`` is a workbench
        """
        self._folder, self._target = folder, target or folder
        self._manifest = manifest
        self._crew = crew
        self._sort_memory_bytes = sort_memory_bytes
        self._events = events
        self._taken = taken
        self._due = _Due()
        self._dimensions: dict[str, Dimension] = {}
        self._contents = {entry.content: entry.file for entry in manifest.sources}
        self._reading: deque[_Flight] = deque()
        self._sorting: deque[_Flight] = deque()
        self._started = 0

    @property
    def manifest(self) -> Manifest:
        """The manifest with the files that are committed so far."""
        return self._manifest

    def take(self, files: Iterable[TraceFile], advance: Advance) -> None:
        """Ingest the files. ``advance`` gets the number of bytes read and a line about the file."""
        # one file more than workers, so that no worker waits while a file is committed
        most = self._crew.size + (self._crew.size > 1)
        waiting = iter(files)
        more = True
        try:
            while more or self._reading or self._sorting:
                while more and len(self._reading) + len(self._sorting) < most:
                    file = next(waiting, None)
                    more = file is not None
                    if file is not None:
                        self._start(file, advance)
                if self._reading or self._sorting:
                    self._go_on()
        finally:
            self._name()

    def _start(self, file: TraceFile, advance: Advance) -> None:
        folder = self._folder / STAGING / f"{self._started:06d}"
        self._started += 1
        task = StageTask(
            file.path,
            file.name,
            file.match.source.name,
            folder,
            file.beside,
            file.stored_sizes,
            file.together_bytes,
            file.stored,
        )

        def on_progress(size: int, rows: int, rejected: int) -> None:
            broken = f", {rejected:,} rejected" if rejected else ""
            advance(size, f"{file.name}: {counted(rows, 'row')}{broken}")

        self._reading.append(_Flight(file, self._crew.submit(task, on_progress), folder))

    def _go_on(self) -> None:
        """Commit the first sorted file, or key the first read file; wait if neither is ready."""
        ahead: list[Future[Any]] = []
        if self._sorting:
            waiting = [one for one in self._sorting[0].sorting if not one.done()]
            if not waiting:
                self._commit(self._sorting.popleft())
                return
            ahead += waiting
        if self._reading:
            if self._reading[0].staging.done():
                self._key(self._reading.popleft())
                return
            ahead.append(self._reading[0].staging)
        wait(ahead, return_when=FIRST_COMPLETED)

    def _key(self, flight: _Flight) -> None:
        """Give the file's ids their keys and start to sort it, unless it is not taken in."""
        try:
            staged = flight.staging.result()
        except (CheckFailedError, LostWorkerError):
            raise
        except TracekitError as error:
            self._events.failed(flight.file.name, error)
            return
        content = staged[0].content
        if content not in self._contents:
            staged = self._consistent(flight.file, staged)
        flight.staged = staged
        if content in self._contents:
            self._events.already_stored(flight.file.name, self._contents[content])
            shutil.rmtree(flight.folder)
            return
        try:
            self._events.check(flight.file, staged)
        except CheckFailedError:
            self._finish_sorting()
            raise
        self._contents[content] = flight.file.name
        for one in staged:
            counts = {
                entity: self._extend(flight, one, entity)
                for entity in sorted(all_tables()[one.table].entities)
            }
            task = SortTask(one, counts, self._sort_memory_bytes)
            flight.sorting.append(self._crew.submit(task, lambda *_: None))
        self._sorting.append(flight)

    def _consistent(self, file: TraceFile, staged: tuple[Staged, ...]) -> tuple[Staged, ...]:
        """The staged rows of a file without rows that contradict the files before it."""
        states = any(one.rows and one.table in STATED for one in staged)
        if file.match.source.name != OWN or not states:
            return staged
        self._finish_sorting()
        self._name()
        return without_contradictions(staged, file, Store(self._target, self._manifest))

    def _extend(self, flight: _Flight, staged: Staged, entity: str) -> int:
        """Write the store's keys of the file's ids; returns the number of ids in the store."""
        before = self._dimensions.get(entity) or committed(self._folder, entity, self._manifest)
        aside = staged.folder / f"{entity}.parquet"
        after, keys = extend(before, staged.names(entity), aside)
        np.save(staged.keys_path(entity), keys)
        self._dimensions[entity] = after
        if after is not before:
            flight.longer.append((entity, aside, before.count, after.count))
        return after.count

    def _finish_sorting(self) -> None:
        """Commit all files that are being sorted."""
        while self._sorting:
            self._commit(self._sorting.popleft())

    def _commit(self, flight: _Flight) -> None:
        """Add a sorted file to the due files; write the manifest if its last write is long ago."""
        staged = flight.staged
        written = [one.result() for one in flight.sorting]
        parts = [self._next_part(one.table) for one in staged]
        moves = [self._moves(one, part) for one, part in zip(staged, parts, strict=True)]
        for entity, aside, first_key, _ in flight.longer:
            owner = next(at for at, one in enumerate(staged) if one.folder == aside.parent)
            moves[owner][aside] = dimension_path(entity, first_key)
            self._due.ids.append((entity, aside))
        checksums = [{t: checksum(source) for source, t in some.items()} for some in moves]
        for some in moves:
            self._due.moves |= {source: self._folder / target for source, target in some.items()}
        counts = {entity: count for entity, _, _, count in flight.longer}
        entries = tuple(
            _entry(flight.file, *each)
            for each in zip(staged, written, parts, checksums, strict=True)
        )
        self._manifest = replace(
            self._manifest,
            sources=(*self._manifest.sources, *entries),
            dimensions=dict(sorted({**self._manifest.dimensions, **counts}.items())),
        )
        self._due.entries += entries
        self._due.folders.append(flight.folder)
        if time.monotonic() - self._due.since_s >= _NAMED_EVERY_S:
            self._name()

    def _name(self) -> None:
        """Move the due files into the store, and name them in the manifest in one write."""
        due, self._due = self._due, _Due()
        if not due.entries:
            return
        # all data is written: moves take no space on the disk and almost no time
        put(due.moves, self._folder)
        for entity, aside in due.ids:
            self._dimensions[entity] = self._dimensions[entity].moved(aside, due.moves[aside])
        self._events.committed(tuple(due.entries), self._manifest)
        for folder in due.folders:
            shutil.rmtree(folder)

    def _next_part(self, table: str) -> int:
        taken = {entry.part for entry in self._taken if entry.table == table}
        part = 1 + max((entry.part for entry in self._manifest.parts(table)), default=-1)
        while part in taken:
            part += 1
        return part

    def _moves(self, staged: Staged, part: int) -> dict[Path, str]:
        moves = {staged.part: part_path(staged.table, part)}
        if staged.rejected:
            moves[staged.rejects] = rejects_path(staged.table, part)
        return moves
