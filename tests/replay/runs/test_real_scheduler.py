"""Whole runs of the real kube-scheduler 1.34.1, pod by pod, through the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from real_scheduler import as_workload, recorded_runs

from tracekit.commands.shell import run


@pytest.mark.slow
def test_every_pod_is_on_the_node_of_the_real_scheduler(tmp_path: Path) -> None:
    for at, recorded in enumerate(recorded_runs()):
        folder = as_workload(tmp_path / f"cluster{at}", recorded)
        out = tmp_path / f"run{at}"
        asked = ["--workload", str(folder), "--policy", _policy(recorded), "--out", str(out)]
        assert run(["replay", *asked]) == 0
        placed = pl.read_parquet(out / "placements.parquet").sort("container")
        found = ["" if node is None else node for node in placed["node"]]
        assert found == recorded["chosen"], recorded["name"]


def _policy(recorded: dict[str, Any]) -> str:
    given = [f"percentage_of_nodes_to_score={recorded['percentage_of_nodes_to_score']}"]
    if "Balanced" not in recorded["profile"]:
        given.append("balanced_allocation_weight=0")
    return f"default_scheduler[tie=first,{','.join(given)}]"
