"""Stores for tests: of one file, of the tiny made-up trace; and every byte of a folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests_support import csv_text

from tracekit.ingest import ingest
from tracekit.store import Store, open_store
from tracekit.store.folder import LOCK
from tracekit.store.manifest import SourceEntry
from tracekit.synth import write


def tree(folder: Path) -> dict[str, str]:
    """The sha256 of every file of a folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def tree_but_lock(folder: Path) -> dict[str, str]:
    """The sha256 of every file of a folder but the lock, which a killed ingest may leave."""
    return {name: digest for name, digest in tree(folder).items() if Path(name).name != LOCK}


def ingest_one(folder: Path, name: str, header: str, lines: list[str]) -> SourceEntry:
    """What the manifest says of one CSV in the folder, ingested into the store in it."""
    (folder / name).write_text(csv_text(header, lines))
    (entry,) = ingest(folder / name, folder / "store").ingested
    return entry


def counts_of(folder: Path, store: Path) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Ingest a folder; rows, rejected rows and duplicates by file and table."""
    return {
        (entry.file, entry.table): (entry.rows, entry.rejected, entry.duplicates_dropped)
        for entry in ingest(folder, store).ingested
    }


def tiny_store(folder: Path, *, seed: int = 0, tables: str = "") -> Store:
    """The tiny made-up trace in ``folder / "traces"``, all or one folder of it, as a store."""
    write(folder / "traces", preset="tiny", seed=seed)
    ingest(folder / "traces" / tables, folder / "store")
    return open_store(folder / "store")
