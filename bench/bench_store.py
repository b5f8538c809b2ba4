"""A store of a given size, written as its Parquet files at once: ingest is not what is measured."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tracekit.base.arrays import IntArray
from tracekit.intake.ingest.dimensions import hashed, write_part
from tracekit.intake.ingest.sort import parquet_schema
from tracekit.store.broken_rows import ROW_GROUP_ROWS
from tracekit.store.catalog import write_catalog
from tracekit.store.folder import (
    Manifest,
    SourceEntry,
    dimension_path,
    open_store,
    part_path,
    write_manifest,
)
from tracekit.store.tables import all_tables

STEPS, STEP_MS = 1_440, 30_000
Columns = Mapping[str, NDArray[np.generic]]


def write_store(folder: Path, nodes: int, containers: int, services: int, seed: int) -> None:
    """Write ``nodes`` and ``containers`` x 1,440 steps, and two rates a minute per container."""
    rng = np.random.Generator(np.random.PCG64(seed))
    service = np.sort(np.minimum((rng.pareto(1.2, containers) * 4).astype(int), services - 1))
    node = rng.integers(0, nodes, containers)
    entries = [_put(folder, "node_usage", 0, _node_rows(nodes, rng))]
    parts = _container_parts(service, node, rng)
    entries += [_put(folder, "container_usage", n, part) for n, part in enumerate(parts)]
    rates = _rate_parts(service, rng)
    entries += [_put(folder, "service_rate", n, part) for n, part in enumerate(rates)]
    counts = {"container": containers, "node": nodes, "service": services}
    for entity, count in counts.items():
        ids = [hashlib.sha256(f"{entity}{n}".encode()).hexdigest() for n in range(count)]
        names = pl.Series("id", ids)
        keys = np.arange(count, dtype=np.int32)
        write_part(folder / dimension_path(entity, 0), keys, names, hashed(names))
    write_manifest(
        folder, Manifest(tool_version="bench", sources=tuple(entries), dimensions=counts)
    )
    write_catalog(open_store(folder))


def _put(folder: Path, table: str, part: int, columns: Columns) -> SourceEntry:
    path = folder / part_path(table, part)
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = parquet_schema(all_tables()[table])
    rows: pa.Table = pl.DataFrame(columns).select(schema.names).to_arrow().cast(schema)
    few = [name for name in schema.names if name not in {"cpu_fraction", "memory_fraction"}]
    pq.write_table(
        rows, path, compression="zstd", use_dictionary=few, row_group_size=ROW_GROUP_ROWS
    )
    name, times = f"{table}_{part}", columns["time_ms"]
    return SourceEntry(
        file=name, size_bytes=1, sha256=name, content=name, release="ctm21", table=table, part=part,
        rows_read=rows.num_rows, rows=rows.num_rows, rejected=0, duplicates_dropped=0,
        time_min_ms=int(times.min()), time_max_ms=int(times.max()),
    )  # fmt: skip


def _node_rows(nodes: int, rng: np.random.Generator) -> Columns:
    noise = rng.standard_normal((nodes, STEPS))
    cpu = np.clip(rng.beta(25, 10.7, (nodes, 1)) + 0.02 * noise, 0.001, 1)
    memory = np.clip(rng.beta(90, 30, (nodes, 1)) + 0.001 * noise[:, ::-1], 0.001, 1)
    return {
        "time_ms": np.tile(np.arange(STEPS) * STEP_MS, nodes),
        "node_key": np.repeat(np.arange(nodes), STEPS),
        "cpu_fraction": cpu.ravel(),
        "memory_fraction": memory.ravel(),
    }


def _container_parts(
    service: IntArray, node: IntArray, rng: np.random.Generator
) -> Iterator[Columns]:
    """Twelve parts of an hour each; values on grids as fine as those of the trace."""
    count, steps = service.size, STEPS // 12
    level = rng.lognormal(-1.885, 0.6, int(service.max()) + 1)[service][:, np.newaxis]
    for hour in range(12):
        cpu = np.abs(level * (1 + 0.1 * rng.standard_normal((count, steps))))
        memory = 0.65 + 0.003 * rng.standard_normal((count, steps))
        yield {
            "time_ms": np.tile((hour * steps + np.arange(steps)) * STEP_MS, count),
            "container_key": np.repeat(np.arange(count), steps),
            "node_key": np.repeat(node, steps),
            "service_key": np.repeat(service, steps),
            "cpu_fraction": (np.rint(cpu * 24_000) / 24_000).ravel(),
            "memory_fraction": (np.rint(memory * 2**20) / 2**20).ravel(),
        }


def _rate_parts(service: IntArray, rng: np.random.Generator) -> Iterator[Columns]:
    """Twenty-four parts of half an hour: calls per second, and their response time."""
    count, minutes = service.size, 30
    for part in range(24):
        rate = np.rint(60 * np.abs(10 + rng.standard_normal((count, minutes)))) / 60
        both = np.stack([rate, np.full_like(rate, 5)], axis=1)
        yield {
            "time_ms": np.tile((part * minutes + np.arange(minutes)) * 60_000, count * 2),
            "service_key": np.repeat(service, minutes * 2),
            "container_key": np.repeat(np.arange(count), minutes * 2),
            "metric": np.tile(
                np.repeat(np.array(["providerRPC_MCR", "providerRPC_RT"]), minutes), count
            ),
            "value": both.ravel(),
        }
