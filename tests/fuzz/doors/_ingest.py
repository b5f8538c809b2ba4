"""The rule of every door of ingest: each row is stored, dropped as a duplicate, or rejected."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from door import Case
from forks import Done


def unbalanced(store: Path) -> str | None:
    """The fault of the row counts of a store, by its manifest and by its files; None without one."""
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


@dataclass(frozen=True, kw_only=True)
class Fate:
    """The expected fate of a file: its rows, and the distinct numbers that are stored of them.

    Parameters
    ----------
    values : one tuple a row of pairs (column, value); the ids are left out
    twin : the file with the same bytes that is stored instead of this one; it is told
    """

    read: int
    rejected: int
    values: frozenset[tuple[tuple[str, float | None], ...]]
    twin: str | None = None


def ingest_verdict(case: Case, done: Done, store: Path) -> str | None:
    """The fault of the row counts, also against the ``expected`` fate of each file."""
    if wrong := unbalanced(store):
        return wrong
    if done.code != 0 or not isinstance(case.expected, Mapping):
        return None
    entries = json.loads((store / "manifest.json").read_text())["sources"]
    results = {Path(entry["file"]).name: entry for entry in entries}
    wrongs = (
        _untold(name, fate.twin, done.out)
        if fate.twin
        else _differs(name, fate, results.get(name), store)
        for name, fate in case.expected.items()
    )
    return next((wrong for wrong in wrongs if wrong), None)


def _untold(name: str, twin: str, out: str) -> str | None:
    line = f"{name}: already in the store as {twin}"
    return None if line in out else f"{name}: its rows are those of {twin}, which is not said"


def _differs(name: str, fate: Fate, entry: Mapping[str, Any] | None, store: Path) -> str | None:
    if entry is None:
        return f"{name}: {fate.read} rows, but the file is not in the store" if fate.read else None
    seen = (entry["rows_read"], entry["rejected"])
    if seen != (fate.read, fate.rejected):
        return f"{name}: read and rejected {seen}, expected {(fate.read, fate.rejected)}"
    values = _stored(store, entry, fate)
    if values != fate.values:
        other = sorted(map(str, values ^ fate.values))
        return f"{name}: {len(other)} rows with other values, the first: {other[0]}"
    return None


def _stored(
    store: Path, entry: Mapping[str, Any], fate: Fate
) -> frozenset[tuple[tuple[str, float | None], ...]]:
    part = store / "tables" / entry["table"] / f"part-{entry['part']:05d}.parquet"
    if not fate.values or not entry["rows"]:
        return frozenset()
    columns = [name for name, _ in next(iter(fate.values))]
    rows = pq.read_table(part, columns=columns).select(columns).to_pylist()
    return frozenset(tuple(row.items()) for row in rows)
