"""Stores for tests: of one file, of the tiny made-up trace; and every byte of a folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

import duckdb
from tests_support import csv_text

from tracekit.base.files.durable import LOCK
from tracekit.intake.ingest import ingest
from tracekit.store.folder import CATALOG, SourceEntry, Store, open_store
from tracekit.synth import write


def tree(folder: Path) -> dict[str, str]:
    """The sha256 of every file of a folder; of a catalog that of its views, wherever it lies."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(_content(path)).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _content(path: Path) -> bytes:
    """The bytes; of a catalog its views, which name the folder of their files in full."""
    if path.name != CATALOG:
        return path.read_bytes()
    try:
        with duckdb.connect(path, read_only=True) as con:
            views = con.execute("SELECT schema_name, sql FROM duckdb_views() ORDER BY ALL")
            result = repr(views.fetchall())
    except duckdb.Error:
        return path.read_bytes()
    return result.replace(str(path.parent.resolve()), "STORE").encode()


def tree_but_lock(folder: Path) -> dict[str, str]:
    """The sha256 of every file of a folder but the lock, which a killed ingest may leave."""
    return {name: digest for name, digest in tree(folder).items() if Path(name).name != LOCK}


def ingest_one(folder: Path, name: str, header: str, lines: list[str]) -> SourceEntry:
    """What the manifest says of one CSV in the folder, ingested into the store in it."""
    (folder / name).write_text(csv_text(header, lines))
    (entry,) = ingest(folder / name, folder / "store").ingested
    return entry


def tiny_store(folder: Path, *, seed: int = 0, tables: str = "") -> Store:
    """The tiny made-up trace in ``folder / "traces"``, all or one folder of it, as a store."""
    write(folder / "traces", preset="tiny", seed=seed)
    ingest(folder / "traces" / tables, folder / "store")
    return open_store(folder / "store")
