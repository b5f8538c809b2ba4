"""``make bench-ingest``: speed and memory of ingest, and of the node analytics, as ratios.

What is compared runs in turns, in one go, on the machine at hand: ``gzip -dc`` of the same archive
is the yardstick, DuckDB's reader the honest rival (the same rows, keys and order, compared row by
row), pandas ``read_csv`` and ``to_parquet`` the usual way. Both rivals stand in ``rivals``, to be
run by hand. ``--quick`` goes through everything with files too small to say anything.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench_analytics import analytics
from bench_archives import Blocks, call_blocks, resource_blocks, write_archive
from bench_keys import keys
from bench_measure import Measured, interleaved, measure, median_cpu, median_wall
from bench_rivals import RIVALS, check_same, duckdb_ingest
from machine import machine

#: 96,368 containers x 120 steps of 30 s: an hour, as in each MSResource archive of the trace.
FULL = {"resource": 11_564_160, "call": 5_000_000, "memory": 600_000, "rounds": 3, "starts": 25}
QUICK = {"resource": 20_000, "call": 20_000, "memory": 5_000, "rounds": 1, "starts": 2}
FULL_CSV_GB = 277
_TWICE = "for file in {}; do gzip -dc $file > /dev/null; done"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny files, one round")
    parser.add_argument("--rows", type=int, help="rows of an MSResource archive")
    parser.add_argument("--rounds", type=int, help="turns of each; the median counts")
    parser.add_argument("--only", help="one, calls, two, start, memory, keys or analytics")
    parser.add_argument("--dir", type=Path, help="where the archives are made; needs 15 GB")
    arguments = parser.parse_args()
    sizes = dict(QUICK if arguments.quick else FULL)
    sizes["resource"] = arguments.rows or sizes["resource"]
    sizes["rounds"] = arguments.rounds or sizes["rounds"]
    print(f"{machine()}, load {os.getloadavg()[0]:.1f}\n")
    with tempfile.TemporaryDirectory(dir=arguments.dir) as name:
        folder = Path(name)
        resource, rounds = sizes["resource"], sizes["rounds"]
        parts: dict[str, Callable[[], None]] = {
            "one": lambda: one_archive(folder, "MSResource", resource_blocks, resource, rounds),
            "calls": lambda: one_archive(folder, "MSCallGraph", call_blocks, sizes["call"], rounds),
            "two": lambda: two_archives(folder, resource, rounds),
            "start": lambda: start_up(folder, sizes["starts"]),
            "memory": lambda: memory(folder, sizes["memory"]),
            "keys": lambda: keys(folder, quick=arguments.quick),
            "analytics": lambda: analytics(folder, quick=arguments.quick),
        }
        for part, print_it in parts.items():
            if arguments.only in {None, part}:
                print_it()


def one_archive(folder: Path, stem: str, blocks: Blocks, rows: int, rounds: int) -> None:
    """One archive to a finished store, against gzip, DuckDB and pandas."""
    path = folder / f"{stem}_0.tar.gz"
    csv_bytes = write_archive(path, blocks, rows, seed=1)
    store, rival = folder / "store", folder / "duckdb"
    commands = {"gzip -dc": ["gzip", "-dc", str(path)], "tracekit": _ingest(path, store)}
    if blocks is resource_blocks:
        commands["DuckDB"] = duckdb_ingest(path, rival)
    if importlib.util.find_spec("pandas"):
        target = str(folder / "pandas.parquet")
        commands["pandas"] = [sys.executable, str(RIVALS / "pandas_parquet.py"), str(path), target]
    runs = interleaved(commands, rounds)
    print(f"{stem}, {rows:,} rows, {csv_bytes / 1e6:,.0f} MB of CSV:")
    _table(runs, csv_bytes)
    if "DuckDB" in runs:
        same = check_same(store, rival)
        times = median_cpu(runs["DuckDB"]) / median_cpu(runs["tracekit"])
        print(f"  DuckDB wrote the same {same:,} rows in the same order with {times:.2f} x the CPU")
        shutil.rmtree(rival)
    part = folder / "store" / "tables"
    stored = sum(file.stat().st_size for file in part.rglob("*.parquet"))
    print(f"  tables / archive: {stored / path.stat().st_size:.0%}\n")
    path.unlink()


def two_archives(folder: Path, rows: int, rounds: int) -> None:
    """Two archives at once, against two decompressions one after the other."""
    pair = folder / "pair"
    pair.mkdir()
    paths = [pair / f"MSResource_{n}.tar.gz" for n in range(2)]
    csv_bytes = sum(
        write_archive(path, resource_blocks, rows, seed=n + 1, first=n * 10_000)
        for n, path in enumerate(paths)
    )
    both = _TWICE.format(" ".join(map(str, paths)))
    commands = {
        "gzip -dc, one by one": ["sh", "-c", both],
        "tracekit --jobs 2": [*_ingest(pair, folder / "store"), "--jobs", "2"],
    }
    runs = interleaved(commands, rounds)
    print(f"two MSResource archives, {csv_bytes / 1e6:,.0f} MB of CSV:")
    _table(runs, csv_bytes)
    seconds = median_wall(runs["tracekit --jobs 2"])
    minutes = FULL_CSV_GB * 1e9 / (csv_bytes / seconds) / 60
    print(f"  at that rate the whole trace, {FULL_CSV_GB} GB of CSV: {minutes:,.0f} minutes\n")
    shutil.rmtree(pair)


def start_up(folder: Path, times: int) -> None:
    """A folder of one archive of 2,000 rows: what an ingest takes before it has anything to do."""
    source = folder / "tiny"
    source.mkdir()
    write_archive(source / "MSResource_0.tar.gz", resource_blocks, 2_000, seed=1)
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "tracekit ingest": _ingest(source, folder / "store"),
    }
    print(f"start to end with 2,000 rows, {times} times (least, median):")
    for name, runs in interleaved(commands, times).items():
        wall, cpu = sorted(run.wall_s for run in runs), sorted(run.cpu_s for run in runs)
        middle = times // 2
        print(
            f"  {name:22s} {wall[0]:.2f} s, {wall[middle]:.2f} s;"
            f" {cpu[0]:.2f} CPU s, {cpu[middle]:.2f} CPU s",
            flush=True,
        )
    print()


def memory(folder: Path, rows: int) -> None:
    """Peak memory for a file, one four times and one sixteen times as large."""
    print("peak resident memory, default limit of 1 GiB:")
    tables: list[tuple[str, Blocks]] = [
        ("MSResource", resource_blocks),
        ("MSCallGraph", call_blocks),
    ]
    for stem, blocks in tables:
        peaks = []
        for times in (1, 4, 16):
            path = folder / f"{stem}_{times}.tar.gz"
            write_archive(path, blocks, rows * times, seed=times)
            run = measure(_ingest(path, folder / "store"))
            peaks.append(f"{times}x ({rows * times:,} rows) {run.memory_bytes / 2**20:,.0f} MiB")
            path.unlink()
        print(f"  {stem}: {', '.join(peaks)}", flush=True)
    print()


def _ingest(source: Path, store: Path) -> list[str]:
    """A shell line that ingests into a store made anew."""
    program = f'rm -rf {store} && exec {sys.executable} -m tracekit ingest {source} {store} "$@"'
    return ["sh", "-c", program, "sh"]


def _table(runs: dict[str, list[Measured]], csv_bytes: int) -> None:
    yardstick = median_wall(next(iter(runs.values())))
    for name, measured in runs.items():
        wall = median_wall(measured)
        cpu = median_cpu(measured)
        peak = max(run.memory_bytes for run in measured) / 2**20
        print(
            f"  {name:22s} {wall:7.2f} s {cpu:7.2f} CPU s {csv_bytes / wall / 1e6:7.0f} MB/s"
            f" {yardstick / wall:6.2f} x {peak:6,.0f} MiB",
            flush=True,
        )


if __name__ == "__main__":
    main()
