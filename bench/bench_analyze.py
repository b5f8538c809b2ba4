"""``make bench-analyze``: all analytics of a large store, as multiples of one scan of its columns.

Everything of ``tracekit analyze`` but the sizes inferred by least squares and what the interference
fit reads runs on 13,000 nodes x 1,440 steps and 20 million container rows, in turns with a bare
scan of the same Parquet columns; pandas does the heart of it (profiles of nodes and containers,
causes) on the node and container tables. ``--quick`` uses a store too small to say anything.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench_store import write_store

from tracekit.analysis.large import EDGES, PROFILE, run_query, way_of
from tracekit.analysis.results import all_results
from tracekit.analysis.run import Analysis, Work, analyze
from tracekit.store.folder import Store, open_store
from tracekit.store.query import Database, run
from tracekit.store.sqlfiles import all_queries

FULL = {"nodes": 13_000, "containers": 13_900, "services": 1_300, "rounds": 3}
QUICK = {"nodes": 20, "containers": 40, "services": 5, "rounds": 1}
TARGET_SCANS = 5
#: Sizes are a fit of their own, and the interference queries are what ``tracekit fit`` reads.
LEFT_OUT = [
    name
    for name in (*all_queries(), *all_results())
    if name.startswith(("service_sizes", "interference/"))
]
SCANS = {
    "node_usage_keyed": "max(node_key), max(time_ms), sum(cpu_fraction), sum(memory_fraction)",
    "container_usage_keyed": """max(container_key), max(node_key), max(service_key), max(time_ms),
        sum(cpu_fraction), sum(memory_fraction)""",
    "service_rate_keyed": """max(service_key), max(container_key), max(time_ms), max(metric),
        sum(value)""",
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tiny store, one round")
    parser.add_argument("--dir", type=Path, help="where the store is made; needs 1 GB")
    arguments = parser.parse_args()
    sizes = QUICK if arguments.quick else FULL
    with tempfile.TemporaryDirectory(dir=arguments.dir) as name:
        folder = Path(name)
        write_store(folder, sizes["nodes"], sizes["containers"], sizes["services"], seed=1)
        measure(open_store(folder), sizes["rounds"])
    if not arguments.quick:
        print("\ncall graphs:", flush=True)
        beside = Path(__file__).with_name("bench_callgraph.py")
        subprocess.run([sys.executable, str(beside), "50"], check=True)


def measure(store: Store, rounds: int) -> None:
    """Scan, analytics and pandas in turns, and then what each part took."""
    ways: dict[str, Callable[[], object]] = {
        "one scan of the columns": lambda: scan(store),
        "tracekit analyze, 1 to 4": lambda: analyze(store, without=LEFT_OUT),
    }
    if importlib.util.find_spec("pandas"):
        ways["pandas, the heart of it"] = lambda: with_pandas(store)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - start)
    rows = sum(entry.rows for entry in store.manifest.sources)
    print(f"{rows:,} rows of nodes, containers and services:")
    unit = statistics.median(seconds["one scan of the columns"])
    for name, times in seconds.items():
        median = statistics.median(times)
        print(f"  {name:28s} {median:8.2f} s {median / unit:6.2f} x scan", flush=True)
    print(f"  target: at most {TARGET_SCANS} x scan; what the parts take one by one:")
    for name, took in sorted(parts_alone(store).items(), key=lambda item: -item[1])[:10]:
        print(f"    {name:34s} {took:8.2f} s {took / unit:6.2f} x scan")
    for name, (other, by_sql) in ways_beside_sql(store, rounds).items():
        print(
            f"  {name} by itself: the other way {other:.2f} s, its SQL {by_sql:.2f} s"
            f" ({by_sql / other:.2f} x)"
        )


def ways_beside_sql(store: Store, rounds: int) -> dict[str, tuple[float, float]]:
    """What each query takes another way and by its SQL, in turns: medians in seconds.

    Queries of tables that the store lacks, or that are too small, are left out.
    """
    taken = [name for name in (EDGES, PROFILE) if way_of(name, store)]
    ways = run_query, run
    found = {}
    for name in taken:
        times: list[list[float]] = [[], []]
        for _ in range(rounds):
            for way, spent in zip(ways, times, strict=True):
                start = time.perf_counter()
                way(store, name)
                spent.append(time.perf_counter() - start)
        found[name] = (statistics.median(times[0]), statistics.median(times[1]))
    return found


def scan(store: Store) -> None:
    """Read every column that the analytics read, once."""
    with Database(store) as database:
        for table, columns in SCANS.items():
            database.rows(f"SELECT {columns} FROM {table}")


def parts_alone(store: Store) -> dict[str, float]:
    """What each part takes when it is the only one under way, in seconds."""
    with Database(store) as database:
        steps = Work(store, database, Analysis(), seed=0).without(LEFT_OUT)
        seconds = {}
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            seconds[name] = time.perf_counter() - start
    return seconds


def with_pandas(store: Store) -> None:
    """Profiles of nodes and containers, and the changes of nodes, as a pandas user gets them."""
    pandas = importlib.import_module("pandas")
    nodes = pandas.concat(map(pandas.read_parquet, store.table_files("node_usage")))
    used = ["cpu_fraction", "memory_fraction"]
    by_node = nodes.groupby("node_key")[used]
    by_node.agg(["mean", "median", "std", "max"])
    by_node.apply(lambda rows: rows["cpu_fraction"].corr(rows["memory_fraction"]))
    changes = by_node.diff()
    changes.abs().groupby(nodes["node_key"]).mean()
    del nodes, changes
    containers = pandas.concat(map(pandas.read_parquet, store.table_files("container_usage")))
    stays = containers.groupby(["container_key", "node_key"])
    stays[used].agg(["mean", "std", "max"])
    stays["time_ms"].agg(["min", "max", "count"])


if __name__ == "__main__":
    main()
