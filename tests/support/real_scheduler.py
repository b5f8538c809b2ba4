"""Answers of the real kube-scheduler, where they are at hand: cases, and whole runs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests_support import SHARED

REAL = SHARED / "golden" / "real"


def recorded_cases() -> list[dict[str, Any]]:
    """Every case of ``cases.jsonl.gz``; the test is skipped where it is not at hand."""
    with gzip.open(_at_hand("cases.jsonl.gz"), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def recorded_runs() -> list[dict[str, Any]]:
    """Every run of ``runs.json.gz``; the test is skipped where it is not at hand."""
    with gzip.open(_at_hand("runs.json.gz"), "rt", encoding="utf-8") as file:
        runs: list[dict[str, Any]] = json.load(file)
    return runs


def _at_hand(name: str) -> Path:
    path = REAL / name
    if not path.is_file():
        pytest.skip(f"real/{name} is not at hand")
    return path


def as_workload(folder: Path, run: Mapping[str, Any]) -> Path:
    """A run's nodes and pods as a folder of tables; a pod a millisecond, none ever leaves."""
    folder.mkdir()
    nodes: Sequence[Mapping[str, Any]] = run["nodes"]
    pods: Sequence[Mapping[str, Any]] = run["pods"]
    names = {"cpu_milli": pl.Int64, "memory_bytes": pl.Int64}
    pl.DataFrame(
        {"node": [one["name"] for one in nodes]}
        | {
            name: pl.Series([one["allocatable"].get(name) for one in nodes], dtype=pl.Int64)
            for name in (*names, "pods")
        }
    ).write_parquet(folder / "nodes.parquet")
    pl.DataFrame(
        {
            "container": [f"p{at:06}" for at in range(len(pods))],
            "service": ["s"] * len(pods),
            "node": pl.Series([None] * len(pods), dtype=pl.String),
            "arrival_ms": list(range(len(pods))),
            "departure_ms": pl.Series([None] * len(pods), dtype=pl.Int64),
        }
        | {
            name: pl.Series([one["requests"].get(name) for one in pods], dtype=pl.Int64)
            for name in names
        }
    ).write_parquet(folder / "containers.parquet")
    pl.DataFrame(
        {"container": ["p000000"], "time_ms": [0], "cpu_milli": [0.0], "memory_bytes": [0.0]}
    ).write_parquet(folder / "usage.parquet")
    return folder
