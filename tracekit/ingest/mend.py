"""Stored files that were damaged since are written again, from the trace file they came from.

A file is taken in once more as if the store were at the point where it first came in: it gets the
same part and the same keys, so all that came after it stays as it is.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from tracekit.crew.crew import Alone
from tracekit.errors import TracekitError
from tracekit.files.places import open_whole
from tracekit.ingest.coordinate import Coordinator, Events
from tracekit.read.discover import TraceFile
from tracekit.store.checksums import Damage, damaged_parts
from tracekit.store.folder import DIMENSIONS
from tracekit.store.manifest import Manifest, SourceEntry, write_manifest
from tracekit.tables import all_tables


def sha256(path: Path) -> str:
    """The sha256 of a file, as the manifest has it."""
    with open_whole(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def mend(
    folder: Path, manifest: Manifest, files: Sequence[TraceFile], sort_memory_bytes: int
) -> tuple[Manifest, list[SourceEntry]]:
    """Write again what is damaged of the files that are given once more.

    Only what came from files of these sizes is read and compared.

    Returns
    -------
    The manifest, and the entries of what was mended.

    Raises
    ------
    TracekitError
        When ids that a file builds upon are damaged themselves, and their file is not given.
    """
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
            manifest = _taken_again(folder, manifest, first, file, sort_memory_bytes)
            mended.append(entry)
    return manifest, mended


def _same(one: SourceEntry, other: SourceEntry) -> bool:
    return (one.file, one.content) == (other.file, other.content)


def _taken_again(
    folder: Path, manifest: Manifest, at: int, file: TraceFile, sort_memory_bytes: int
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
    coordinator = Coordinator(folder, before, Alone(), sort_memory_bytes, events)
    coordinator.take([dataclasses.replace(file, name=entry.file)], lambda *_: None)
    # another version of a library may write other bytes for the same rows
    after = dataclasses.replace(
        manifest, sources=(*before.sources, *again, *manifest.sources[last:])
    )
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
    """What is damaged of the ids of the tables' entities."""
    entities = {entity for table in tables for entity in all_tables()[table].entities}
    folders = tuple(f"{DIMENSIONS}/{entity}/" for entity in sorted(entities))
    for entry in manifest.sources:
        ids = {path: one for path, one in entry.checksums.items() if path.startswith(folders)}
        yield from damaged_parts(folder, [dataclasses.replace(entry, checksums=ids)])
