"""kube-scheduler: its configurations as policies, and what the real one answered."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from tests_support import SHARED

from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.profile import Profile

BASE: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}
DEFAULT = {
    "least_allocated": 1,
    "balanced_allocation": 1,
    "pod_topology_spread": 2,
}


def written(folder: Path, document: Any, name: str = "kube-scheduler.yaml") -> Path:
    path = folder / name
    text = document if isinstance(document, str) else yaml.safe_dump(document)
    path.write_text(text, encoding="utf-8")
    return path


def profile(folder: Path, plugins: Any = None, args: Any = None, **top: Any) -> Profile:
    """The policy of a configuration with one profile."""
    one: dict[str, Any] = {"schedulerName": "default-scheduler"}
    one |= {"plugins": plugins} if plugins else {}
    if args:
        one["pluginConfig"] = [{"name": name, "args": given} for name, given in args.items()]
    result = parse_policy(str(written(folder, {**BASE, "profiles": [one], **top})))
    assert isinstance(result, Profile)
    return result


def weights(policy: Profile) -> dict[str, float]:
    return {part.policy.name(): part.weight for part in policy.parts}


def part(policy: Profile, name: str) -> PlacementPolicy:
    return next(one.policy for one in policy.parts if one.policy.name() == name)


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
