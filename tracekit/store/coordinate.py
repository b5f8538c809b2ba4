"""Several files at work at once, taken into the store one after another, in their order.

Files are read side by side. Names get their keys, and files are committed, strictly in order, so
that a store's bytes do not depend on how many workers there were, and so that whatever the moment a
run is killed at, the store holds the first files and nothing of the others.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tracekit.crew import Crew, LostWorkerError
from tracekit.errors import CheckFailedError, TracekitError
from tracekit.ingest.discover import TraceFile
from tracekit.store.checksums import checksum
from tracekit.store.dimensions import Dimension, committed, extend
from tracekit.store.entry import make_entry
from tracekit.store.folder import STAGING, dimension_path, part_path, rejects_path
from tracekit.store.manifest import Manifest, SourceEntry
from tracekit.store.sort import Written
from tracekit.store.stage import Staged
from tracekit.store.tasks import SortTask, StageTask
from tracekit.tables import all_tables

#: Told how much of a file is done.
Advance = Callable[[float, str], None]


@dataclass
class Events:
    """What happens to files; called in the order of the files.

    Attributes
    ----------
    committed : a file is in: its entry and the manifest with it, to be written now
    known : a file is in the store already: its name and what it is the same as
    failed : a file could not be read
    check : raises when a file must not be taken in
    """

    committed: Callable[[SourceEntry, Manifest], None]
    known: Callable[[str, str], None]
    failed: Callable[[str, TracekitError], None]
    check: Callable[[TraceFile, Staged], None]


@dataclass
class _Flight:
    """A file at work."""

    file: TraceFile
    staging: Future[Staged]
    folder: Path
    #: For each entity with new ids the key of the first, and how many ids there are with them.
    longer: dict[str, tuple[int, int]] = field(default_factory=dict)
    sorting: Future[Written] | None = None


class Coordinator:
    """Takes files into the store in ``folder``, which the caller has locked."""

    def __init__(
        self, folder: Path, manifest: Manifest, crew: Crew, sort_memory_bytes: int, events: Events
    ) -> None:
        self._folder = folder
        self._manifest = manifest
        self._crew = crew
        self._sort_memory_bytes = sort_memory_bytes
        self._events = events
        self._dimensions: dict[str, Dimension] = {}
        self._contents = {entry.content: entry.file for entry in manifest.sources}
        self._reading: deque[_Flight] = deque()
        self._sorting: deque[_Flight] = deque()
        self._started = 0

    def take(self, files: Iterable[TraceFile], advance: Advance) -> None:
        """Take the files in."""
        # a file more than there are workers, so that none waits while one is committed
        most = self._crew.size + (self._crew.size > 1)
        waiting = iter(files)
        more = True
        while more or self._reading or self._sorting:
            while more and len(self._reading) + len(self._sorting) < most:
                file = next(waiting, None)
                more = file is not None
                if file is not None:
                    self._start(file, advance)
            if self._reading or self._sorting:
                self._go_on()

    def _start(self, file: TraceFile, advance: Advance) -> None:
        folder = self._folder / STAGING / f"{self._started:06d}"
        self._started += 1
        task = StageTask(file.path, file.name, file.match.source.name, folder)

        def on_progress(size: int, rows: int, rejected: int) -> None:
            broken = f", {rejected:,} rejected" if rejected else ""
            advance(size, f"{file.name}: {rows:,} rows{broken}")

        self._reading.append(_Flight(file, self._crew.submit(task, on_progress), folder))

    def _go_on(self) -> None:
        """Take the next step with the file that is next at it; wait when neither is ready."""
        ahead: list[Future[Any]] = []
        if self._sorting:
            sorting = self._sorting[0].sorting
            assert sorting is not None  # noqa: S101 - that is what put it in this queue
            if sorting.done():
                self._commit(self._sorting.popleft(), sorting.result())
                return
            ahead.append(sorting)
        if self._reading:
            if self._reading[0].staging.done():
                self._key(self._reading.popleft())
                return
            ahead.append(self._reading[0].staging)
        wait(ahead, return_when=FIRST_COMPLETED)

    def _key(self, flight: _Flight) -> None:
        """Give the file's names their keys and have it sorted, unless it is not to be taken in."""
        try:
            staged = flight.staging.result()
        except (CheckFailedError, LostWorkerError):
            raise
        except TracekitError as error:
            self._events.failed(flight.file.name, error)
            return
        if staged.content in self._contents:
            self._events.known(flight.file.name, self._contents[staged.content])
            shutil.rmtree(flight.folder)
            return
        try:
            self._events.check(flight.file, staged)
        except CheckFailedError:
            self._finish_sorting()
            raise
        self._contents[staged.content] = flight.file.name
        counts = {
            entity: self._extend(flight, staged, entity)
            for entity in sorted(all_tables()[staged.table].entities)
        }
        task = SortTask(staged, counts, self._sort_memory_bytes)
        flight.sorting = self._crew.submit(task, lambda *_: None)
        self._sorting.append(flight)

    def _extend(self, flight: _Flight, staged: Staged, entity: str) -> int:
        """Keys for the file's ids of an entity; returns how many the store knows now."""
        before = self._dimensions.get(entity) or committed(self._folder, entity, self._manifest)
        after, keys = extend(before, staged.names(entity), flight.folder / f"{entity}.parquet")
        np.save(staged.keys_path(entity), keys)
        self._dimensions[entity] = after
        if after is not before:
            flight.longer[entity] = (before.count, after.count)
        return after.count

    def _finish_sorting(self) -> None:
        """Commit the files that are before the one at hand."""
        while self._sorting:
            flight = self._sorting.popleft()
            assert flight.sorting is not None  # noqa: S101 - as above
            self._commit(flight, flight.sorting.result())

    def _commit(self, flight: _Flight, written: Written) -> None:
        staged = flight.staging.result()
        before = self._manifest.parts(staged.table)
        part = 1 + max((entry.part for entry in before), default=-1)
        moves = {staged.part: part_path(staged.table, part)}
        for entity, (first_key, _) in flight.longer.items():
            aside = flight.folder / f"{entity}.parquet"
            moves[aside] = dimension_path(entity, first_key)
            place = self._folder / moves[aside]
            self._dimensions[entity] = self._dimensions[entity].moved(aside, place)
        if staged.rejected:
            moves[staged.rejects] = rejects_path(staged.table, part)
        checksums = {target: checksum(source) for source, target in moves.items()}
        # everything is written; moving it takes no room on the disk and next to no time
        for source, target in moves.items():
            _move(source, self._folder / target)
        counts = {entity: count for entity, (_, count) in flight.longer.items()}
        entry = make_entry(flight.file, staged, written, part, checksums)
        self._manifest = replace(
            self._manifest,
            sources=(*self._manifest.sources, entry),
            dimensions=dict(sorted({**self._manifest.dimensions, **counts}.items())),
        )
        self._events.committed(entry, self._manifest)
        shutil.rmtree(flight.folder)


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    source.replace(target)
