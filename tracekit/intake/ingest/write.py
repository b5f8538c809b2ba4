"""Ingest: trace files into the store, one transaction per source file.

A file's rows, rejects and new ids are written to a staging folder and moved into the store. After
that the manifest names them. A file that the manifest does not name is not in the store, so a run
that is killed at any moment leaves each source file either whole in the store or not in it.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tracekit.base.constants import MEMORY_LIMIT_BYTES
from tracekit.base.crew import Alone, Crew, Workers
from tracekit.base.errors import CheckFailedError, TracekitError
from tracekit.base.files.places import explained_store_errors, is_remote, place
from tracekit.base.files.replacing import clear_away, put_back
from tracekit.base.progress import SILENT, Progress
from tracekit.base.units import percent, size
from tracekit.base.words import counted
from tracekit.intake.ingest.coordinate import Advance, Coordinator, Events
from tracekit.intake.ingest.derive import derive
from tracekit.intake.ingest.mend import (
    Replaced,
    facts,
    file_to_reingest,
    mend,
    replaced_by,
    stored_entry,
    without_earlier,
)
from tracekit.intake.ingest.staged import Staged
from tracekit.intake.ingest.summary import (
    IngestSummary,
    begun,
    failure,
    is_made_up,
    refused_now,
    summary_line,
)
from tracekit.intake.ingest.written_folder import opened_for_writing, writable
from tracekit.intake.read.discover import Discovery, TraceFile, discover
from tracekit.intake.sources import ClusterMatch
from tracekit.store.broken_rows import all_rejected
from tracekit.store.catalog import unfinished
from tracekit.store.doubts import base_sizes, doubts
from tracekit.store.folder import Manifest, SourceEntry, Store, is_store
from tracekit.store.never_ran import now_listed
from tracekit.store.quantities import absent_use
from tracekit.store.stored_rows import LISTS, OWN, STATED

# The order of the files in one ingest: later files are compared with earlier ones.
#
# Files of other sources come before a user's own tables, because the other source's statement about
# a node or container holds. Of a user's own tables, lists of nodes and containers come first, then
# tables in the columns of the store.


def in_turns(files: Sequence[TraceFile]) -> list[list[TraceFile]]:
    """Return the files in groups that are ingested one after another, at least one group.

    A file is compared with the rows that earlier groups stored.
    """
    turns: list[list[TraceFile]] = [[], [], []]
    for file in files:
        turns[_turn(file)].append(file)
    return [some for some in turns if some] or [[]]


def _turn(file: TraceFile) -> int:
    match = file.match
    if match.source.name != OWN or not isinstance(match, ClusterMatch):
        return 0
    return 2 if match.file.word in STATED else 1


def with_facts(
    some: Sequence[TraceFile], every: Sequence[TraceFile], store: Store, folder: Path
) -> Iterator[TraceFile]:
    """Yield the files of a group, each with the stored rows that it is compared with.

    Parameters
    ----------
    some : the files of the group; see ``in_turns``
    every : all files of the ingest
    folder : the folder to which the stored rows are copied
    """
    sizes = () if is_remote(store.path) else base_sizes(store)
    releases = {file.match.source.name for file in some}
    stored = {release: facts(every, store, folder, release) for release in releases}
    names = {entry.file for entry in store.manifest.sources}
    new_bytes = sum(file.size_bytes for file in every if file.name not in names)
    for file in some:
        yield dataclasses.replace(
            file,
            stored_sizes=sizes,
            stored=stored[file.match.source.name],
            together_bytes=new_bytes,
        )


#: Fewer bytes are read before a second process has started.
_PARALLEL_FROM_BYTES = 64 << 20
#: Memory of this process and of each worker, without the rows to sort; and the memory with which a
#: worker pays.
_COORDINATOR_BYTES = 260 << 20
_PROCESS_BYTES = 300 << 20
_WORKER_BYTES = 400 << 20
#: numba would import scipy's linear algebra, which takes half of the time that numba takes to load.
_NOT_NEEDED = ("scipy",)


def ingest(
    source: str | Path,
    store: str | Path,
    *,
    release: str = "auto",
    jobs: int | None = None,
    memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
    max_rejects_fraction: float | None = None,
    replace: bool = False,
    crew: Crew | None = None,
    progress: Progress = SILENT,
) -> IngestSummary:
    """Read trace files into a store, or resume an interrupted ingest.

    The store's bytes depend on neither ``jobs`` nor ``memory_limit_bytes``.

    Parameters
    ----------
    source : a trace file, or a folder of trace files
    store : the folder of the store, on this machine or an object store
    release : the name of the source; ``auto`` recognises it by the files
    jobs : the number of processes; by default one for each core if there is much to read
    max_rejects_fraction : the largest allowed share of broken rows in a file
    replace : whether a file replaces the stored file of the same name
    crew : workers that read and sort; closed only after an error. Workers of this machine are used
        if the memory is enough for all of them; otherwise ``ingest`` starts others

    Raises
    ------
    TracekitError
        When the source is missing, holds no trace table or a damaged one; when another process
        writes the store; when the store has a newer format; when the disk is full. The store then
        has all files that were finished before, and no part of another.
    CheckFailedError
        When a file has more broken rows than ``max_rejects_fraction``.
    """
    # the workers of such a crew may run in another folder, on another machine
    elsewhere = crew is not None and not isinstance(crew, Alone | Workers)
    where, target = place(source), place(store)
    traces = _discovered(where.resolve() if elsewhere else where, release, progress)
    target = target.resolve() if elsewhere else target
    if not (remote := is_remote(target)):
        put_back(target)
    with writable(target) as (folder, commit, finish), opened_for_writing(folder) as opened:
        summary = begun(target, traces)
        alone_memory = memory_limit_bytes - _PROCESS_BYTES
        manifest = opened if remote else _mended(folder, opened, traces, alone_memory, summary)
        manifest = dataclasses.replace(manifest, made_up=is_made_up(where) or manifest.made_up)
        writer = _Writer(commit, manifest, summary, max_rejects_fraction)
        earlier = _earlier(folder, manifest, traces, summary, remote=remote) if replace else None
        if earlier is not None:
            manifest, traces = earlier.manifest, dataclasses.replace(traces, files=earlier.files)
            writer.before, writer.stored = manifest.sources, manifest
        whole = not (remote or unfinished(Store(folder, manifest)))
        late = file_to_reingest(traces.files, manifest, writer.known_file) if whole else None
        if late is not None:
            again = partial(
                ingest,
                source,
                release=release,
                jobs=jobs,
                memory_limit_bytes=memory_limit_bytes,
                max_rejects_fraction=max_rejects_fraction,
                crew=crew,
                progress=progress,
            )
            return dataclasses.replace(_anew(folder, again, finish), store=target, anew=late.name)
        with (
            _finished(finish),
            _readers(crew, jobs, traces.files, memory_limit_bytes) as readers,
            progress.task("ingest", traces.size_bytes, "bytes") as task,
        ):
            memory, events = _sort_memory(readers, memory_limit_bytes), writer.events()
            coordinator = Coordinator(folder, manifest, readers, memory, events, target=target)
            for some in in_turns(traces.files):
                files = with_facts(some, traces.files, Store(target, coordinator.manifest), folder)
                coordinator.take(writer.unknown(files, task.advance), task.advance)
            if not remote:
                writer.end(folder, alone_memory, () if earlier is None else earlier.gone)
    _check_taken(summary, writer.manifest, max_rejects_fraction)
    progress.say(summary_line(summary))
    return summary


def _discovered(where: Path, release: str, progress: Progress) -> Discovery:
    """The trace files at a path; raises TracekitError if the path is a store."""
    with explained_store_errors():
        if is_store(where):
            raise TracekitError(
                f"{where} is a store, expected trace files",
                hint=f"it is ingested already; all that can be done with it: tracekit run {where}"
                " --out DIR",
            )
        discovery = discover(where, release=release)
    progress.say(f"{counted(len(discovery.files), 'file')} of {size(discovery.size_bytes)}")
    return discovery


def _anew(
    folder: Path, make: Callable[[Path], IngestSummary], finish: Callable[[], None]
) -> IngestSummary:
    """Make a new store in place of the one in ``folder``; returns the summary of ``make``."""
    summary = replaced_by(folder, make)
    finish()
    return summary


def _mended(
    folder: Path, opened: Manifest, discovery: Discovery, memory_bytes: int, summary: IngestSummary
) -> Manifest:
    """Clear leftovers away and write damaged parts again; returns the manifest."""
    clear_away(folder)
    manifest, mended = mend(folder, opened, discovery.files, memory_bytes)
    summary.mended += [entry.file for entry in mended]
    return manifest


def _earlier(
    folder: Path, manifest: Manifest, discovery: Discovery, summary: IngestSummary, *, remote: bool
) -> Replaced:
    """The store without the rows of earlier versions of the files."""
    if remote:
        raise TracekitError(
            "files of a store on an object store cannot be replaced",
            hint="ingest all files into a new store",
        )
    earlier = without_earlier(folder, manifest, discovery.files)
    summary.replaced += earlier.names
    return earlier


def _check_taken(summary: IngestSummary, manifest: Manifest, max_rejects: float | None) -> None:
    """Raise TracekitError for failed files, or if all rows of a table were rejected.

    If the user set a largest share of rejects, rejected rows raise no error here.
    """
    if summary.failed:
        raise failure(summary)
    tables_in = {one.table for one in summary.ingested}
    # tables that list nodes and containers come first: the other tables are compared with them
    tables = [*(one for one in STATED if one in tables_in), *sorted(tables_in - {*STATED})]
    if max_rejects is None and (lost := all_rejected(manifest, tables)):
        raise lost


class _Writer:
    """Writes the manifest, fills the summary, and recognises files that the store has."""

    def __init__(
        self,
        commit: Callable[[Manifest], None],
        manifest: Manifest,
        summary: IngestSummary,
        max_rejects: float | None,
    ) -> None:
        self._commit = commit
        self.manifest = manifest
        self.before = manifest.sources
        # the manifest without the versions of files that are replaced
        self.stored = manifest
        self._summary = summary
        self._max_rejects = max_rejects

    def events(self) -> Events:
        """The functions that are called when something happens to a file."""
        return Events(
            committed=self._committed,
            already_stored=lambda name, same: self._summary.known.append((name, same)),
            failed=lambda name, error: self._summary.failed.append((name, error)),
            check=self._check,
        )

    def keep(self, manifest: Manifest) -> None:
        """Commit a manifest."""
        self._commit(manifest)
        self.manifest = manifest

    def end(self, folder: Path, memory_bytes: int, gone: Sequence[str]) -> None:
        """Derive fractions, note the refused files, and fill the summary's doubts.

        ``gone`` are the paths of parts that new parts replace; they are deleted.
        """
        summary = self._summary
        for path in gone if summary.ingested else ():
            (folder / path).unlink(missing_ok=True)
        unlisted = derive(folder, self.manifest, self.keep, memory_bytes)
        now = {(entry.file, entry.table): entry for entry in self.manifest.sources}
        summary.ingested = [now.get((one.file, one.table), one) for one in summary.ingested]
        refused = refused_now(self.manifest, summary)
        if refused != self.manifest.refused:
            self.keep(dataclasses.replace(self.manifest, refused=refused))
        store = Store(folder, self.manifest)
        late = now_listed(store, self.before) if self._lists_more() else ()
        summary.doubts = (*unlisted, *doubts(store), *late)
        summary.lacks = absent_use(store) if refused else []

    def _lists_more(self) -> bool:
        """Whether this ingest brought rows that list nodes or containers."""
        listing = {table for tables in LISTS.values() for table in tables}
        return any(one.rows and one.table in listing for one in self._summary.ingested)

    def _committed(self, entries: tuple[SourceEntry, ...], manifest: Manifest) -> None:
        before = {one.file for one in self.manifest.sources} - set(self._summary.replaced)
        own = dict.fromkeys(one.file for one in entries if one.release == OWN)
        self._summary.again += [name for name in own if name in before]
        self.keep(manifest)
        self.stored = manifest
        self._summary.ingested += entries

    def _check(self, file: TraceFile, staged: Sequence[Staged]) -> None:
        limit = self._max_rejects
        rejected, read = sum(s.rejected for s in staged), sum(s.rows_read for s in staged)
        if staged[0].lines_read is not None:
            rejected, read = staged[0].lines_broken, staged[0].lines_read
        if limit is not None and rejected > limit * max(1, read):
            raise _too_many_rejects(file, rejected, read, limit)

    def unknown(self, files: Iterable[TraceFile], advance: Advance) -> Iterator[TraceFile]:
        """The files whose bytes are not in the store; each is compared when its turn comes."""
        for file in files:
            same = self.known_file(file)
            if same is None:
                yield file
            else:
                self._summary.known.append((file.name, same.file))
                advance(file.size_bytes, file.name)

    def known_file(self, file: TraceFile) -> SourceEntry | None:
        """The entry of a stored file with the same bytes; None if there is none."""
        return stored_entry(self.stored, file)


@contextmanager
def _finished(finish: Callable[[], None]) -> Iterator[None]:
    """Finish the store also after an error, because committed files stay in it."""
    try:
        yield
    finally:
        finish()


@contextmanager
def _readers(
    crew: Crew | None, jobs: int | None, files: Sequence[TraceFile], memory_bytes: int
) -> Iterator[Crew]:
    """The given workers if the memory is enough for all of them; otherwise new workers."""
    fits = crew is not None and (
        not isinstance(crew, Workers) or crew.size <= memory_bytes // _WORKER_BYTES
    )
    readers = crew if crew is not None and fits else _crew(jobs, files, memory_bytes)
    try:
        yield readers
    except BaseException:
        readers.close()
        raise
    if readers is not crew:
        readers.close()


def _crew(jobs: int | None, files: Sequence[TraceFile], memory_bytes: int) -> Crew:
    """As many workers as files, cores and memory allow; for little work this process alone."""
    total = sum(file.size_bytes for file in files)
    wanted = jobs or ((os.cpu_count() or 1) if total >= _PARALLEL_FROM_BYTES else 1)
    size = min(wanted, len(files), max(1, memory_bytes // _WORKER_BYTES))
    return Workers(size, _NOT_NEEDED) if size > 1 else Alone()


def _sort_memory(crew: Crew, memory_bytes: int) -> int:
    """The memory of each sort in bytes: the limit less the memory of processes and of reading."""
    if crew.size == 1 or not isinstance(crew, Workers):
        return memory_bytes - _PROCESS_BYTES
    return (memory_bytes - _COORDINATOR_BYTES) // crew.size - _PROCESS_BYTES


def _too_many_rejects(
    file: TraceFile, rejected: int, rows_read: int, limit: float
) -> CheckFailedError:
    return CheckFailedError(
        f"{file.name}: {rejected:,} of {rows_read:,} rows are broken"
        f" ({percent(rejected / rows_read)}), at most {percent(limit)} were allowed",
        hint="the file was not taken in; raise --max-rejects to take its good rows",
    )
