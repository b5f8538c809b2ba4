"""Stores that are written again: some files, or all where a new one changes what they mean.

A file is taken in once more as if the store were at the point where it first came in: it gets the
same part and the same keys, so all that came after it stays as it is.
"""

import dataclasses
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tracekit.base.crew import Alone
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.files.durable import LOCK, put
from tracekit.base.files.places import open_whole
from tracekit.base.files.replacing import replaced_folder, taken_over
from tracekit.base.files.result_folder import Damage, checksum
from tracekit.intake.ingest.coordinate import Coordinator, Events
from tracekit.intake.ingest.sort import part_writer
from tracekit.intake.read.discover import TraceFile
from tracekit.intake.sources import ClusterMatch
from tracekit.store.checksums import damaged_parts
from tracekit.store.folder import (
    DERIVED,
    DIMENSIONS,
    STAGING,
    Manifest,
    SourceEntry,
    Store,
    others,
    part_path,
    rejects_path,
    write_manifest,
)
from tracekit.store.stored_rows import OWN, TAKEN, set_down, stored_rows
from tracekit.store.tables import all_tables

#: The kinds of somebody's own files that list containers: what the store took of one holds.
_LISTS = ("containers", "container")


def sha256(path: Path) -> str:
    """The sha256 of a file, as the manifest has it."""
    with open_whole(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def stored_entry(manifest: Manifest, file: TraceFile) -> SourceEntry | None:
    """The entry with the same bytes, looked for only where a size agrees."""
    alike = [one for one in manifest.sources if one.size_bytes == file.size_bytes]
    digest = sha256(file.path) if alike else None
    return next((one for one in alike if one.sha256 == digest), None)


def facts(
    files: Sequence[TraceFile], store: Store, folder: Path, release: str
) -> tuple[tuple[str, Path], ...]:
    """What files of a release are held against; ``files`` are all that are ingested together."""
    stored = stored_rows(store, folder, release)
    if release != OWN:
        return stored
    taken = [
        str(file.path)
        for file in files
        if isinstance(file.match, ClusterMatch)
        and file.match.source.name == OWN
        and file.match.file.word in _LISTS
        and stored_entry(store.manifest, file) is not None
    ]
    return (*stored, set_down(folder, TAKEN, taken))


def mend(
    folder: Path, manifest: Manifest, files: Sequence[TraceFile], sort_memory_bytes: int
) -> tuple[Manifest, list[SourceEntry]]:
    """Write again what is damaged of the files that are given once more.

    Only what came from files of these sizes is read and compared. What was worked out of all files
    leaves the store where any of it is damaged; it is worked out anew when they are in.

    Returns
    -------
    The manifest, and the entries of what was mended.

    Raises
    ------
    TracekitError
        When ids that a file builds upon are damaged themselves, and their file is not given.
    """
    manifest = _without_damaged_shares(folder, manifest)
    sizes = {file.size_bytes for file in files}
    mended = []
    for entry in manifest.sources:
        if entry.size_bytes not in sizes or not any(damaged_parts(folder, [entry])):
            continue
        alike = [file for file in files if file.size_bytes == entry.size_bytes]
        file = next((one for one in alike if sha256(one.path) == entry.sha256), None)
        if file is not None:
            # a file of several tables has an entry for each, one after another
            first = next(n for n, one in enumerate(manifest.sources) if _same(one, entry))
            manifest = _taken_again(folder, manifest, first, file, sort_memory_bytes, files=files)
            mended.append(entry)
    return manifest, mended


def _without_damaged_shares(folder: Path, manifest: Manifest) -> Manifest:
    derived = [one for one in manifest.sources if one.release == DERIVED]
    if not any(damaged_parts(folder, derived)):
        return manifest
    stated = tuple(one for one in manifest.sources if one.release != DERIVED)
    manifest = dataclasses.replace(manifest, sources=stated)
    write_manifest(folder, manifest)
    for one in derived:
        (folder / part_path(one.table, one.part)).unlink(missing_ok=True)
    return manifest


def _same(one: SourceEntry, other: SourceEntry) -> bool:
    return (one.file, one.content) == (other.file, other.content)


def _taken_again(
    folder: Path,
    manifest: Manifest,
    at: int,
    file: TraceFile,
    sort_memory_bytes: int,
    *,
    files: Sequence[TraceFile],
) -> Manifest:
    entry = manifest.sources[at]
    before = dataclasses.replace(
        manifest, sources=manifest.sources[:at], dimensions=_counts_before(manifest, at)
    )
    last = at + sum(_same(one, entry) for one in manifest.sources)
    tables = [one.table for one in manifest.sources[at:last]]
    damage = next(_damaged_ids(folder, before, tables), None)
    if damage is not None:
        raise TracekitError(
            f"{entry.file} cannot be mended before {damage.source_file},"
            f" whose ids come first: {damage.path} is damaged",
            hint=f"ingest {damage.source_file} again first, or both together",
        )
    again: list[SourceEntry] = []

    def failed(_: str, error: TracekitError) -> None:
        raise error

    events = Events(
        committed=lambda made, _: again.extend(made),
        known=lambda *_: None,
        failed=failed,
        check=lambda *_: None,
    )
    stays = manifest.sources[last:]
    coordinator = Coordinator(folder, before, Alone(), sort_memory_bytes, events, taken=stays)
    # it is held against what the store had when it first came in
    stored = facts(files, Store(folder, before), folder, entry.release)
    once_more = dataclasses.replace(file, name=entry.file, stored=stored)
    coordinator.take([once_more], lambda *_: None)
    # another version of a library may write other bytes for the same rows
    after = dataclasses.replace(manifest, sources=(*before.sources, *again, *stays))
    if after != manifest:
        write_manifest(folder, after)
    return after


def _counts_before(manifest: Manifest, at: int) -> dict[str, int]:
    """How many ids of each entity were known when a source file came in."""
    return {
        entity: min(
            (key for entry in manifest.sources[at:] for key in _first_keys(entry, entity)),
            default=count,
        )
        for entity, count in manifest.dimensions.items()
    }


def _first_keys(entry: SourceEntry, entity: str) -> list[int]:
    paths = [Path(path) for path in entry.checksums if path.startswith(f"{DIMENSIONS}/{entity}/")]
    return [int(path.stem.removeprefix("part-")) for path in paths]


def _damaged_ids(folder: Path, manifest: Manifest, tables: Sequence[str]) -> Iterator[Damage]:
    """The damaged files of the ids of the tables' entities."""
    entities = {entity for table in tables for entity in all_tables()[table].entities}
    folders = tuple(f"{DIMENSIONS}/{entity}/" for entity in sorted(entities))
    for entry in manifest.sources:
        ids = {path: one for path, one in entry.checksums.items() if path.startswith(folders)}
        yield from damaged_parts(folder, [dataclasses.replace(entry, checksums=ids)])


# A store that is made anew of all its files, where a new one changes what the others mean. A list
# of a cluster says what has left since the list before. What is stored of that one is not true
# any more, so all files are read together once more, into a folder beside the store that then
# takes its place. Until then the store is as it was.

Made = TypeVar("Made")
#: What finds the entry of a file whose very bytes are stored.
Known = Callable[[TraceFile], SourceEntry | None]


def late_list(files: Sequence[TraceFile], manifest: Manifest, known: Known) -> TraceFile | None:
    """The first new file that changes what another in the store means; None where none does.

    Raises
    ------
    TracekitError
        Where a file of the store is not among these, so that it cannot be made anew.
    """
    read = [file for file in files if isinstance(file.match, ClusterMatch)]
    stored = {file.path for file in read if known(file) is not None}
    new = [file for file in read if file.path not in stored]
    late = next((file for file in new if _changes(file, manifest)), None)
    if late is None:
        return None
    there = {entry.sha256 for entry in map(known, files) if entry is not None}
    gone = [
        entry.file
        for entry in manifest.sources
        if entry.release != DERIVED and entry.sha256 not in there
    ]
    if gone:
        count = len(set(gone))
        more = f" and {count - 1} more" if count > 1 else ""
        raise TracekitError(
            f"{late.name} lists the cluster again: what has left since is only seen by reading it"
            f" together with the files of the store, of which {gone[0]}{more}"
            f" {'is' if count == 1 else 'are'} not here",
            hint="put all of them into one folder and ingest that; the store is then made anew",
        )
    return late


def replaced_by(folder: Path, make: Callable[[Path], Made]) -> Made:
    """Have a store made beside this one, which is locked, and put in its place.

    Other files in the folder stay there.

    Parameters
    ----------
    make : called with the folder of the new store

    Raises
    ------
    TracekitError
        Where the store is a mount point.
    """
    with replaced_folder(folder) as fresh:
        made = make(fresh)
        taken_over(others(folder), fresh)
        # the lock that is held stands in both, so that nobody gets into either
        os.link(folder / LOCK, fresh / LOCK)
    return made


def _changes(file: TraceFile, manifest: Manifest) -> bool:
    """Whether it is read together with files of which some are stored."""
    match = file.match
    if not isinstance(match, ClusterMatch) or not match.file.together:
        return False
    return any(
        entry.release == match.source.name and entry.rows
        for table in ("container", "node")
        for entry in manifest.parts(table)
    )


# A mended file takes the place of its earlier version, in the store as it is. What is stored of
# that one becomes parts without rows. Its ids stay, as later files are numbered after them. The old
# parts count until the new file is committed.


@dataclass(frozen=True)
class Replaced:
    """The manifest without the rows of earlier versions, and what is left of those.

    Attributes
    ----------
    files : the files of the ingest, called as those that they replace
    names : the files that are replaced
    gone : paths of old parts, to be deleted once the manifest is committed
    """

    manifest: Manifest
    files: tuple[TraceFile, ...]
    names: tuple[str, ...]
    gone: tuple[str, ...]


def without_earlier(folder: Path, manifest: Manifest, files: Sequence[TraceFile]) -> Replaced:
    """A store's manifest without the rows of earlier versions of some files.

    Raises
    ------
    TracekitError
        Where the store has no earlier version of any of them.
    """
    names = sorted({one.file for one in manifest.sources if one.release != DERIVED})
    named = tuple(dataclasses.replace(one, name=_called(one.name, names)) for one in files)
    if not any(one.name in names for one in named):
        close = nearest(named[0].name, names)
        raise TracekitError(
            f"the store has no earlier version of {named[0].name}; it has {', '.join(names[:5])}",
            hint=f"name it as it was: {close}" if close else "without --replace it is taken in",
        )
    old = {one.name for one in named if not _stands(manifest, one)} & set(names)
    sources: list[SourceEntry] = []
    gone: list[str] = []
    tables = {one.table for one in manifest.sources}
    parts = {table: 1 + max(one.part for one in manifest.parts(table)) for table in tables}
    for entry in manifest.sources:
        if entry.file not in old or entry.release == DERIVED:
            sources.append(entry)
            continue
        gone += [part_path(entry.table, entry.part), rejects_path(entry.table, entry.part)]
        sources.append(_emptied(folder, entry, parts[entry.table]))
        parts[entry.table] += 1
    return Replaced(
        dataclasses.replace(manifest, sources=tuple(sources)),
        named,
        tuple(sorted(old)),
        tuple(gone),
    )


def _stands(manifest: Manifest, file: TraceFile) -> bool:
    """Whether a file stands in the store as it is now, alone, and with no row rejected.

    A file with rejects is read again: what its rows lacked may be in the store by now.
    """
    stored = [one for one in manifest.sources if one.file == file.name and one.sha256]
    digest = sha256(file.path) if stored else ""
    return bool(stored) and all(one.sha256 == digest and not one.rejected for one in stored)


def _called(name: str, names: Sequence[str]) -> str:
    """The stored file that a file of this name is a version of; a single file has no folders."""
    alike = [one for one in names if one == name or one.endswith(f"/{name}")]
    return name if name in alike or len(alike) != 1 else alike[0]


def _emptied(folder: Path, entry: SourceEntry, part: int) -> SourceEntry:
    """The entry with a part without rows, which is written now; nothing else is known of it."""
    path = part_path(entry.table, part)
    aside = folder / STAGING / "emptied.parquet"
    aside.parent.mkdir(parents=True, exist_ok=True)
    with part_writer(aside, all_tables()[entry.table]):
        pass
    put({aside: folder / path}, folder)
    ids = {at: one for at, one in entry.checksums.items() if at.startswith(f"{DIMENSIONS}/")}
    return dataclasses.replace(
        entry,
        part=part,
        size_bytes=0,
        sha256="",
        content="",
        rows_read=0,
        rows=0,
        rejected=0,
        duplicates_dropped=0,
        time_min_ms=None,
        time_max_ms=None,
        defects=(),
        checksums={**ids, path: checksum(folder / path)},
        lines_read=None,
    )
