"""Changes read from a store, against a plain pivot of the same rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from usage_support import STEP_MS, random_usage, usage_store

from tracekit.analysis import changes as changes_module
from tracekit.analysis.changes import changes
from tracekit.store.query import Database


def series(rows: pl.DataFrame, steps: int = 40) -> dict[int, float]:
    times = (rows["time_ms"] // STEP_MS).to_list()
    values = dict(zip(times, rows["cpu"].to_list(), strict=True))
    return {at: values.get(at, float("nan")) for at in range(steps)}


@pytest.mark.parametrize("cells", [1, 10_000])
def test_changes_of_nodes_and_containers(
    cells: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes_module, "MAX_CELLS", cells)
    nodes, containers = random_usage(np.random.Generator(np.random.PCG64(9)))
    store = usage_store(tmp_path, nodes=nodes, containers=containers)
    with Database(store) as database:
        names = dict(database.frame("SELECT node_key, node FROM node_id").rows())
        results = {names[one.node_key]: one for one in changes(database)}
    assert set(results) == set(containers["node"])
    for name, one in results.items():
        own = np.diff(list(series(nodes.filter(node=name)).values()))
        assert one.node["cpu"] == pytest.approx(np.nan_to_num(own))
        assert one.steps["cpu"] == (~np.isnan(own)).sum()
        expected = sorted(
            np.nan_to_num(np.diff(list(series(part).values())) * np.where(np.isnan(own), 0, 1))
            .round(12)
            .tolist()
            for part in containers.filter(node=name).partition_by("container")
        )
        assert sorted(one.containers["cpu"].round(12).tolist()) == expected
