"""How fast call graphs are rebuilt, and in how much memory: python bench_callgraph.py [COPIES].

Makes up the small trace, puts COPIES of each of its traces into the store (50 give 9.5 million
records), rebuilds all in both modes with every result written, and prints one line for each. The
process does nothing before that, so its peak memory is that of the command.
"""

from __future__ import annotations

import dataclasses
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from tracekit.analysis.callgraph.run import callgraph
from tracekit.intake.ingest import ingest
from tracekit.intake.ingest.dimensions import hashed, write_part
from tracekit.store.folder import Store, open_store, write_manifest
from tracekit.synth import write

ROW_GROUP_ROWS = 122_880


def multiply(store: Store, copies: int) -> None:
    """Put ``copies`` of each trace into the store, in the store's order."""
    entries = []
    for entry in store.manifest.sources:
        path = store.path / f"tables/{entry.table}/part-{entry.part:05d}.parquet"
        rows = pl.read_parquet(path)
        number = pl.int_range(copies, dtype=pl.Int32, eager=True).alias("copy").to_frame()
        key = pl.col("trace_key") * copies + pl.col("copy")
        copied = rows.join(number, how="cross").with_columns(trace_key=key).drop("copy")
        ordered = copied.sort("trace_key", "time_ms", "rpc_id")
        ordered.write_parquet(path, row_group_size=ROW_GROUP_ROWS)
        entries.append(dataclasses.replace(entry, rows=copied.height))
    files = store.dimension_files("trace")
    ids = pl.read_parquet(files)
    keys = pl.int_range(ids.height * copies, dtype=pl.Int32, eager=True).alias("key")
    texts = ids["id"].gather(keys // copies) + (keys % copies).cast(pl.String)
    for file in files:
        file.unlink()
    write_part(files[0], keys.to_numpy(), texts, hashed(texts))
    dimensions = {**store.manifest.dimensions, "trace": len(keys)}
    manifest = dataclasses.replace(store.manifest, sources=tuple(entries), dimensions=dimensions)
    write_manifest(store.path, manifest)


def measure(store: Path, mode: str) -> str:
    start, used = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as out:
        records = callgraph(open_store(store), Path(out), mode=mode).counts["records"]
    wall, cpu = time.perf_counter() - start, time.process_time() - used
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return (
        f"{mode:<7} {records:>12,} records  {records / wall:>9,.0f} per s"
        f"  {wall:6.1f} s wall  {cpu:6.1f} s CPU  {peak_mb:6.0f} MB"
    )


def make(folder: Path, copies: int) -> None:
    write(folder / "traces", preset="small", seed=1)
    ingest(folder / "traces" / "MSCallGraph", folder / "store")
    multiply(open_store(folder / "store"), copies)


def main(arguments: list[str]) -> None:
    match arguments:
        case ["make", folder, copies]:
            make(Path(folder), int(copies))
        case ["measure", store, mode]:
            sys.stdout.write(measure(Path(store), mode) + "\n")
        case _:
            copies = arguments[0] if arguments else "50"
            with tempfile.TemporaryDirectory() as folder:
                # a child's peak memory starts at its parent's, so the parent stays small
                again("make", folder, copies)
                for mode in ("naive", "repair"):
                    again("measure", f"{folder}/store", mode)


def again(*arguments: str) -> None:
    subprocess.run([sys.executable, __file__, *arguments], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
