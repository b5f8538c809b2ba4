"""Writes files of a store again: damaged ones, all of them, or those that a user replaces.

A damaged file is ingested again as if the store held only the files before it. The file gets the
same part and the same keys, so that the later files stay unchanged.
"""

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tracekit.base.crew import Alone
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.files.durable import LOCK, put
from tracekit.base.files.replacing import replaced_folder, taken_over
from tracekit.base.files.result_folder import Damage, checksum
from tracekit.intake.ingest.coordinate import Coordinator, Events
from tracekit.intake.ingest.sort import part_writer
from tracekit.intake.ingest.stage import sha256
from tracekit.intake.read.discover import TraceFile
from tracekit.intake.sources import ClusterMatch
from tracekit.store.catalog import damaged_parts
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
from tracekit.store.stored_rows import OWN, TAKEN, stored_rows, write_staged_json
from tracekit.store.tables import all_tables

#: Kinds of a user's own files that list containers; a stored list of containers stays valid.
_LISTS = ("containers", "container")


def stored_entry(manifest: Manifest, file: TraceFile) -> SourceEntry | None:
    """Return the entry of a file with the same bytes.

    The file is hashed only if an entry has the same size.
    """
    alike = [one for one in manifest.sources if one.size_bytes == file.size_bytes]
    digest = sha256(file.path) if alike else None
    return next((one for one in alike if one.sha256 == digest), None)


def facts(
    files: Sequence[TraceFile], store: Store, folder: Path, release: str
) -> tuple[tuple[str, Path], ...]:
    """Write the stored rows that new files are compared with, and return (table, path) pairs.

    Parameters
    ----------
    files : all files that are ingested together
    folder : the folder to write to
    release : the name of the source of the new files
    """
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
    return (*stored, write_staged_json(folder, TAKEN, taken))


def mend(
    folder: Path, manifest: Manifest, files: Sequence[TraceFile], sort_memory_bytes: int
) -> tuple[Manifest, list[SourceEntry]]:
    """Write damaged parts of a store again, if their source files are among ``files``.

    Only parts whose source file has the size of a given file are checked. If a part that tracekit
    computed from other tables is damaged, all such parts leave the store; a later step computes
    them again.

    Returns
    -------
    The new manifest, and the entries of the mended parts.

    Raises
    ------
    TracekitError
        When ids of an earlier file are damaged, and that file is not mended before.
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
    events = Events(committed=lambda made, _: again.extend(made))
    later_entries = manifest.sources[last:]
    coordinator = Coordinator(
        folder, before, Alone(), sort_memory_bytes, events, taken=later_entries
    )
    # the file is compared with the rows that the store had when the file first came in
    stored = facts(files, Store(folder, before), folder, entry.release)
    once_more = dataclasses.replace(file, name=entry.file, stored=stored)
    coordinator.take([once_more], lambda *_: None)
    # another version of a library may write other bytes for the same rows
    after = dataclasses.replace(manifest, sources=(*before.sources, *again, *later_entries))
    if after != manifest:
        write_manifest(folder, after)
    return after


def _counts_before(manifest: Manifest, at: int) -> dict[str, int]:
    """The number of ids of each entity in the store before the source at place ``at`` came in."""
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
    """The damaged files of ids, for the entities of some tables."""
    entities = {entity for table in tables for entity in all_tables()[table].entities}
    folders = tuple(f"{DIMENSIONS}/{entity}/" for entity in sorted(entities))
    for entry in manifest.sources:
        ids = {path: one for path, one in entry.checksums.items() if path.startswith(folders)}
        yield from damaged_parts(folder, [dataclasses.replace(entry, checksums=ids)])


# A new list of a cluster shows which containers have left since the stored list. The stored rows
# are then wrong, so all files are ingested together again, into a folder beside the store. That
# folder then replaces the store. Until then the store is unchanged.

Made = TypeVar("Made")
#: Returns the entry of a stored file with the same bytes, or None.
Known = Callable[[TraceFile], SourceEntry | None]


def file_to_reingest(
    files: Sequence[TraceFile], manifest: Manifest, entry_of: Known
) -> TraceFile | None:
    """Return the first new file that lists nodes or containers of a stored source again, or None.

    Such a file must be read together with the stored files: which nodes and containers are gone
    shows only when the lists are compared.

    Parameters
    ----------
    entry_of : returns the store's entry of a file with the same bytes, or None

    Raises
    ------
    TracekitError
        When there is such a file, and ``files`` lacks a file of the store.
    """
    read = [file for file in files if isinstance(file.match, ClusterMatch)]
    stored = {file.path for file in read if entry_of(file) is not None}
    new = [file for file in read if file.path not in stored]
    late = next((file for file in new if _changes(file, manifest)), None)
    if late is None:
        return None
    given = {entry.sha256 for entry in map(entry_of, files) if entry is not None}
    gone = [
        entry.file
        for entry in manifest.sources
        if entry.release != DERIVED and entry.sha256 not in given
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
    """Make a new store, and put it in place of the locked store in ``folder``.

    Files in the folder that do not belong to the store stay there.

    Parameters
    ----------
    make : makes the new store in the folder that it is called with; its result is returned

    Raises
    ------
    TracekitError
        When the store is a mount point.
    """
    with replaced_folder(folder) as fresh:
        made = make(fresh)
        taken_over(others(folder), fresh)
        # both folders have the held lock, so that no other process can write to either
        os.link(folder / LOCK, fresh / LOCK)
    return made


def _changes(file: TraceFile, manifest: Manifest) -> bool:
    """Whether a file must be read together with stored files of its source."""
    match = file.match
    if not isinstance(match, ClusterMatch) or not match.file.together:
        return False
    return any(
        entry.release == match.source.name and entry.rows
        for table in ("container", "node")
        for entry in manifest.parts(table)
    )


# ``--replace``: a file takes the place of its earlier version. The parts of the earlier version
# become parts without rows. Its ids stay, because later ids are numbered after them. The old parts
# are deleted once the new file is committed.


@dataclass(frozen=True)
class Replaced:
    """The result of ``without_earlier``: a manifest in which replaced files have no rows.

    Attributes
    ----------
    files : the files of the ingest; a file that replaces another has the other's name
    names : the names of the replaced files
    gone : the paths of old parts, to be deleted once the manifest is committed
    """

    manifest: Manifest
    files: tuple[TraceFile, ...]
    names: tuple[str, ...]
    gone: tuple[str, ...]


def without_earlier(folder: Path, manifest: Manifest, files: Sequence[TraceFile]) -> Replaced:
    """Return a manifest in which stored versions of ``files`` have no rows, unless unchanged.

    Raises
    ------
    TracekitError
        When no file has the name of a stored file.
    """
    names = sorted({one.file for one in manifest.sources if one.release != DERIVED})
    named = tuple(dataclasses.replace(one, name=_stored_name(one.name, names)) for one in files)
    if not any(one.name in names for one in named):
        close = nearest(named[0].name, names)
        raise TracekitError(
            f"the store has no earlier version of {named[0].name}; it has {', '.join(names[:5])}",
            hint=f"name it as it was: {close}" if close else "without --replace it is taken in",
        )
    old = {one.name for one in named if not _is_unchanged(manifest, one)} & set(names)
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


def _is_unchanged(manifest: Manifest, file: TraceFile) -> bool:
    """Whether the store has the file with the same bytes, no other version, and no reject of it.

    A file with rejects is read again, because the store may now hold what its rows lacked.
    """
    stored = [one for one in manifest.sources if one.file == file.name and one.sha256]
    digest = sha256(file.path) if stored else ""
    return bool(stored) and all(one.sha256 == digest and not one.rejected for one in stored)


def _stored_name(name: str, names: Sequence[str]) -> str:
    """The stored name of a file, also if the given name lacks the folders of the stored name."""
    alike = [one for one in names if one == name or one.endswith(f"/{name}")]
    return name if name in alike or len(alike) != 1 else alike[0]


def _emptied(folder: Path, entry: SourceEntry, part: int) -> SourceEntry:
    """The entry with a new part without rows, which is written here; only its ids stay."""
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
