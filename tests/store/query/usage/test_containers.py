"""Containers on nodes, against a plain computation with polars over the raw rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from usage_support import STEP_MS, random_usage, usage_store

from tracekit.store.folder import Store
from tracekit.store.query import run

GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "heatmap.json").read_text())

Rows = tuple[Store, pl.DataFrame, pl.DataFrame]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    nodes, containers = random_usage(np.random.Generator(np.random.PCG64(3)))
    store = usage_store(tmp_path_factory.mktemp("usage"), nodes=nodes, containers=containers)
    return store, nodes, containers


def moments(column: str) -> list[pl.Expr]:
    value = pl.col(column)
    return [
        value.mean().alias(f"{column}_mean"),
        value.std(ddof=0).alias(f"{column}_std"),
        value.max().alias(f"{column}_max"),
    ]


def stays(containers: pl.DataFrame) -> pl.DataFrame:
    return (
        containers.group_by("container", "node", "service")
        .agg(pl.len().alias("samples"), *moments("cpu"), *moments("memory"))
        .sort("container", "node")
    )


def test_container_profile(rows: Rows) -> None:
    replayed = run(rows[0], "usage/container_profile")
    expected = stays(rows[2])
    for name in expected.columns:
        assert replayed[name].to_list() == (
            pytest.approx(expected[name].to_list(), abs=1e-9)
            if expected[name].dtype.is_numeric()
            else expected[name].to_list()
        )


def containers_by_definition(containers: pl.DataFrame) -> dict[str, int]:
    """Distinct containers of each period; per node the median over periods, rounded half up."""
    counted = containers.group_by("node", "time_ms").agg(pl.col("container").n_unique())
    medians = counted.group_by("node").agg(pl.col("container").median())
    return {node: int(np.floor(median + 0.5)) for node, median in medians.rows()}


@pytest.mark.parametrize("late", [0, 1, 20])
def test_containers_of_a_node_that_one_joins_later(tmp_path: Path, late: int) -> None:
    """Two containers all the time, a third one from step ``late`` on: counted by half the steps."""
    frame = pl.DataFrame(
        [
            {"time_ms": step * STEP_MS, "container": f"c{k}", "service": "s", "node": "n"}
            for k, start in enumerate((0, 0, late))
            for step in range(start, 40)
        ]
    ).with_columns(cpu=pl.lit(0.1), memory=pl.lit(0.5))
    store = usage_store(tmp_path, containers=frame)
    replayed = run(store, "usage/node_containers")
    assert replayed["containers"].to_list() == [containers_by_definition(frame)["n"]] == [3]
    assert replayed["stays"].to_list() == [3]


def test_nodes_against_containers(rows: Rows) -> None:
    store, nodes, containers = rows
    per_node = nodes.group_by("node").agg(*moments("cpu"), *moments("memory"))
    expected = {
        (level, resource): tuple(
            frame[f"{resource}_{column}"].mean() for column in ("mean", "max", "std")
        )
        for level, frame in (("node", per_node), ("container", stays(containers)))
        for resource in ("cpu", "memory")
    }
    replayed = run(store, "usage/node_vs_container")
    assert replayed.height == 4
    for level, resource, *values in replayed.select(
        "level", "resource", "mean", "peak", "std"
    ).rows():
        assert tuple(values) == pytest.approx(expected[level, resource], abs=1e-9)


def test_heat_map_of_the_worked_example(tmp_path: Path) -> None:
    given, expected = GOLDEN["input"], GOLDEN["expected"]
    names = list(given["instances_per_node"])
    nodes = pl.DataFrame(
        {
            "time_ms": [0] * len(names),
            "node": names,
            "cpu": [given["cpu_mean"][name] for name in names],
            "memory": [given["mem_mean"][name] for name in names],
        }
    )
    containers = pl.DataFrame(
        [
            {"time_ms": 0, "service": "s", "container": f"{name}-{k}", "node": name}
            for name, count in given["instances_per_node"].items()
            for k in range(count)
        ]
    ).with_columns(cpu=pl.lit(0.1), memory=pl.lit(0.5))
    store = usage_store(tmp_path, nodes=nodes, containers=containers)
    results = {
        (resource, str(count), str(round(start * 10))): nodes
        for count, resource, start, nodes in run(store, "usage/containers_per_node").rows()
    }
    cells = {
        (resource, count, bin_): nodes
        for resource, key in (("cpu", "cpu_cells"), ("memory", "mem_cells"))
        for count, bins in expected[f"{key}[count][bin]"].items()
        for bin_, nodes in bins.items()
    }
    assert results == cells


def test_heat_map_counts_every_node_once_for_each_resource(rows: Rows) -> None:
    for width in (0.1, 0.3):
        replayed = run(rows[0], "usage/containers_per_node", {"bin_width": width})
        hosts = rows[2]["node"].n_unique()
        assert replayed.group_by("resource").agg(pl.col("nodes").sum())["nodes"].to_list() == [
            hosts,
            hosts,
        ]
        assert replayed["bin_start"].max() < 1  # type: ignore[operator]
