"""What tests of stores share: every byte of a folder, and one file that is ingested by itself."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests_support import csv_text

from tracekit.store import ingest
from tracekit.store.folder import LOCK
from tracekit.store.manifest import SourceEntry


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
