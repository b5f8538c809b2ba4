"""What a workload folder states is known as in a store that is made of the same files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracekit
from tracekit.cluster.parquet.workload import workload_from_parquet

#: Three containers of two nodes; sizes are such as a cluster has, for ingest asks for no less.
NODES: dict[str, list[Any]] = {
    "node": ["n0", "n1"], "cpu_milli": [8000, 8000], "memory_bytes": [2**34, 2**34],
}  # fmt: skip
CONTAINERS: dict[str, list[Any]] = {
    "container": ["a", "b", "c"], "service": ["s", "s", "t"], "node": ["n0", "n1", "n1"],
    "arrival_ms": [0, 0, 30_000], "departure_ms": [None, None, None],
    "cpu_milli": [1000, 2000, 1000], "memory_bytes": [2**30, 2**30, 2**31],
}  # fmt: skip
USAGE: dict[str, list[Any]] = {
    "container": ["a", "b", "a", "b", "c"], "time_ms": [0, 0, 30_000, 30_000, 30_000],
    "cpu_milli": [500.0, 600.0, 500.0, 700.0, 100.0], "memory_bytes": [1e9, 5e8, 1e9, 5e8, 1e9],
}  # fmt: skip
_NULLABLE = ("departure_ms", "cpu_milli", "memory_bytes", "cpu_limit_milli", "priority")


def folder(path: Path, **more: dict[str, list[Any]]) -> Path:
    """The folder with further columns, or other values, of some of its files."""
    path.mkdir()
    files = {"nodes": NODES, "containers": CONTAINERS, "usage": USAGE}
    for name, columns in files.items():
        kinds = dict.fromkeys(_NULLABLE, pl.Int64) if name == "containers" else {}
        made = {**columns, **more.get(name, {})}
        there = {key: kind for key, kind in kinds.items() if key in made}
        pl.DataFrame(made, schema_overrides=there).write_parquet(path / f"{name}.parquet")
    return path


CASES: dict[str, dict[str, dict[str, list[Any]]]] = {
    "the least": {},
    "prices and zones": {
        "nodes": {"price_per_hour": [1.5, None], "zone": ["z0", "z1"]},
    },
    "departures, limits and priorities": {
        "containers": {
            "departure_ms": [None, 60_000, None],
            "cpu_limit_milli": [2000, None, None],
            "priority": [None, 100, None],
        },
    },
    "no request": {
        "containers": {"cpu_milli": [None] * 3, "memory_bytes": [None] * 3},
    },
    "no node": {"containers": {"node": [None, None, None]}},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_folder_and_its_store_say_the_same(name: str, tmp_path: Path) -> None:
    source = folder(tmp_path / "load", **CASES[name])
    load = workload_from_parquet(source)
    tracekit.ingest(source, tmp_path / "store")
    assert load.quantities == tracekit.info(tmp_path / "store")["quantities"]
    assert load.quantities["use of containers"] == "recorded"


def test_use_that_lacks_is_assumed(tmp_path: Path) -> None:
    none: dict[str, list[object]] = {name: [] for name in USAGE}
    kinds = {"container": pl.String, "time_ms": pl.Int64}
    source = folder(tmp_path / "load")
    pl.DataFrame(none, schema={**dict.fromkeys(USAGE, pl.Float64), **kinds}).write_parquet(
        source / "usage.parquet"
    )
    known = workload_from_parquet(source).quantities
    assert (known["use of containers"], known["use of nodes"]) == ("assumed", "absent")
    assert known["requests"] == "recorded"
