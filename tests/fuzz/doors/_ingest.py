"""What every door of ingest is held to: each row is stored, dropped as a duplicate, or rejected."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq
from door import Case
from forks import Done


def unbalanced(store: Path) -> str | None:
    """Why the rows of a store do not add up: by its manifest, and by its files themselves."""
    if not (store / "manifest.json").exists():
        return None
    entries = json.loads((store / "manifest.json").read_text())["sources"]
    for entry in entries:
        counted = entry["rows"] + entry["duplicates_dropped"] + entry["rejected"]
        if counted != entry["rows_read"]:
            return f"{entry['file']}: read {entry['rows_read']}, accounted for {counted}"
    stored = sum(rows_in(path) for path in (store / "tables").rglob("*.parquet"))
    rejected = sum(rows_in(path) for path in (store / "rejects").rglob("*.parquet"))
    if stored != sum(entry["rows"] for entry in entries):
        return f"{stored} rows in the files, the manifest says otherwise"
    if rejected != sum(entry["rejected"] for entry in entries):
        return f"{rejected} rejects in the files, the manifest says otherwise"
    return None


def rows_in(path: Path) -> int:
    """The rows of a Parquet file, by its footer."""
    return int(pq.read_metadata(path).num_rows)


def ingest_verdict(case: Case, done: Done, store: Path) -> str | None:
    """The balance, and the rows of each file where ``expected`` names them: (read, rejected)."""
    if wrong := unbalanced(store):
        return wrong
    if done.code != 0 or not isinstance(case.expected, Mapping):
        return None
    entries = json.loads((store / "manifest.json").read_text())["sources"]
    seen = {Path(entry["file"]).name: (entry["rows_read"], entry["rejected"]) for entry in entries}
    for name, (read, rejected) in case.expected.items():
        if name not in seen and read:
            return f"{name}: {read} rows, but the file is not in the store"
        if name in seen and seen[name] != (read, rejected):
            return f"{name}: read and rejected {seen[name]}, expected {(read, rejected)}"
    return None
