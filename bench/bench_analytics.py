"""r, G and D of every node, and the whole node profile, against a bare scan and pandas."""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from bench_archives import node_blocks, write_archive

from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.store.query import Database

_SCAN = "SELECT max(node_key), sum(cpu_fraction), sum(memory_fraction) FROM node_usage_keyed"
_R_G_D = """
SELECT
    node_key, corr(cpu_fraction, memory_fraction) AS r,
    avg(abs(cpu_fraction - memory_fraction)) AS g,
    avg((1 - cpu_fraction + 1 - memory_fraction) / 2) AS d
FROM node_usage_keyed GROUP BY node_key
"""
_ROUNDS = 5


def analytics(folder: Path, *, quick: bool) -> None:
    """Measure and print, for two numbers of nodes."""
    for nodes in (20, 40) if quick else (1_300, 13_000):
        path = folder / "Node_0.tar.gz"
        write_archive(path, node_blocks, nodes * 1_440, seed=nodes)
        ingest(path, folder / f"nodes_{nodes}")
        path.unlink()
        _measure(open_store(folder / f"nodes_{nodes}"), nodes)


def _measure(store: Store, nodes: int) -> None:
    with Database(store) as database:
        ways: dict[str, Callable[[], object]] = {
            "bare scan": lambda: database.rows(_SCAN),
            "r, G and D by node": lambda: database.frame(_R_G_D),
            "usage/node_profile": lambda: database.frame("SELECT * FROM usage_node_profile"),
        }
        if importlib.util.find_spec("pandas"):
            part = store.table_files("node_usage")[0]
            ways["pandas r, G and D"] = lambda: _pandas(part)
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(_ROUNDS):
            for name, way in ways.items():
                start = time.perf_counter()
                way()
                seconds[name].append(time.perf_counter() - start)
    print(f"{nodes:,} nodes x 1,440 steps:")
    scan = statistics.median(seconds["bare scan"])
    for name, times in seconds.items():
        median = statistics.median(times)
        print(f"  {name:22s} {median * 1e3:9.0f} ms {median / scan:6.2f} x scan", flush=True)


def _pandas(part: Path) -> object:
    """The same three numbers as a pandas user gets them."""
    frame = importlib.import_module("pandas").read_parquet(
        part, columns=["node_key", "cpu_fraction", "memory_fraction"]
    )
    frame["g"] = (frame["cpu_fraction"] - frame["memory_fraction"]).abs()
    frame["d"] = 1 - (frame["cpu_fraction"] + frame["memory_fraction"]) / 2
    by_node = frame.groupby("node_key")
    pairs = by_node[["cpu_fraction", "memory_fraction"]]
    return pairs.apply(lambda rows: rows["cpu_fraction"].corr(rows["memory_fraction"])), by_node[
        ["g", "d"]
    ].mean()
