"""A store of two usage tables given as frames, in as many parts as a test wants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tracekit._version import VERSION
from tracekit.intake.ingest.dimensions import hashed, write_part
from tracekit.store.folder import (
    Manifest,
    SourceEntry,
    Store,
    dimension_path,
    open_store,
    part_path,
    write_manifest,
)

_ENTITIES = ("node", "service", "container")
_VALUES = ("cpu_fraction", "memory_fraction")


def usage_store(
    folder: Path,
    node_usage: Sequence[pl.DataFrame],
    container_usage: Sequence[pl.DataFrame],
    *,
    group_rows: int = 1000,
) -> Store:
    """A store with one part per frame, rows as they stand; ids are text in the frames.

    Keys are given in the order in which ids are met, as an ingest of many files would.
    """
    keys: dict[str, dict[str, int]] = {entity: {} for entity in _ENTITIES}
    entries = []
    for table, frames in (("container_usage", container_usage), ("node_usage", node_usage)):
        for part, frame in enumerate(frames):
            path = folder / part_path(table, part)
            path.parent.mkdir(parents=True, exist_ok=True)
            _keyed(frame, keys).write_parquet(path, row_group_size=group_rows)
            entries.append(_entry(table, part, frame.height))
    for entity, known in keys.items():
        if known:
            ids, path = pl.Series(list(known)), folder / dimension_path(entity, 0)
            write_part(path, np.arange(len(known), dtype=np.int32), ids, hashed(ids))
    counts = {entity: len(known) for entity, known in keys.items()}
    write_manifest(
        folder, Manifest(tool_version=VERSION, sources=tuple(entries), dimensions=counts)
    )
    return open_store(folder)


def _keyed(frame: pl.DataFrame, keys: dict[str, dict[str, int]]) -> pl.DataFrame:
    found = {}
    for name in frame.columns:
        if name in keys:
            known = keys[name]
            given = [None if i is None else known.setdefault(i, len(known)) for i in frame[name]]
            found[f"{name}_key"] = pl.Series(given, dtype=pl.Int32)
        else:
            found[name] = frame[name].cast(pl.Float64 if name in _VALUES else pl.Int64)
    return pl.DataFrame(found)


def _entry(table: str, part: int, rows: int) -> SourceEntry:
    return SourceEntry(
        file=f"{table}-{part}",
        size_bytes=0,
        sha256="",
        content="",
        release="ctm21",
        table=table,
        part=part,
        rows_read=rows,
        rows=rows,
        rejected=0,
        duplicates_dropped=0,
        time_min_ms=None,
        time_max_ms=None,
    )
