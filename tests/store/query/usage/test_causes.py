"""Causes of change, cohorts, bands of G and blocks of time, on rows small enough to check."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from usage_support import STEP_MS, random_usage, usage_store

from tracekit.store.query import run


def node_rows(series: dict[str, tuple[list[float], list[float]]]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"time_ms": at * STEP_MS, "node": node, "cpu": cpu, "memory": memory}
            for node, (cpus, memories) in series.items()
            for at, (cpu, memory) in enumerate(zip(cpus, memories, strict=True))
        ]
    )


def stays(spans: dict[str, tuple[str, list[int]]]) -> pl.DataFrame:
    """Rows of containers at steps of their node."""
    return pl.DataFrame(
        [
            {"time_ms": step * STEP_MS, "container": name, "node": node, "service": "s"}
            for name, (node, steps) in spans.items()
            for step in steps
        ]
    ).with_columns(cpu=pl.lit(0.2), memory=pl.lit(0.5))


def test_every_step_has_its_cause(tmp_path: Path) -> None:
    nodes = node_rows(
        {"n": ([0.50, 0.55, 0.56, 0.70, 0.71, 0.60], [0.7, 0.7, 0.71, 0.72, 0.7, 0.7])}
    )
    spans = {
        "always": ("n", [0, 1, 2, 3, 4, 5]),
        "gap": ("n", [0, 1, 3, 4, 5]),
        "late": ("n", [3, 4, 5]),
        "gone": ("n", [0, 1, 2, 3]),
    }
    store = usage_store(tmp_path, nodes=nodes, containers=stays(spans))
    frame = run(store, "usage/change_causes").select(
        "cause", "events", "cpu_change_mean", "memory_change_mean"
    )
    # 0.50 to 0.55 is a request by the limit itself; the missing sample of 'gap' is no deployment
    expected = [
        ("deploy+", 1, 0.14, 0.01),
        ("deploy-", 1, 0.01, -0.02),
        ("quiet", 1, 0.01, 0.01),
        ("request", 2, (0.05 - 0.11) / 2, 0.0),
    ]
    assert frame.height == 4
    for row, wanted in zip(frame.rows(), expected, strict=True):
        assert row == pytest.approx(wanted, abs=1e-9)


def test_a_move_is_a_deployment_on_both_nodes(tmp_path: Path) -> None:
    flat = ([0.5] * 4, [0.7] * 4)
    spans = {"still": ("a", [0, 1, 2, 3]), "moves": ("a", [0, 1]), "moved": ("b", [2, 3])}
    rows = stays(spans).with_columns(pl.col("container").replace({"moved": "moves"}))
    store = usage_store(tmp_path, nodes=node_rows({"a": flat, "b": flat}), containers=rows)
    records = run(store, "usage/node_causes").select("node", "cause", "events").rows()
    assert records == [
        ("a", "deploy-", 1),
        ("a", "quiet", 2),
        ("b", "deploy+", 1),
        ("b", "quiet", 2),
    ]


def test_cohorts(tmp_path: Path) -> None:
    means = {"n1": (0.9, 0.9), "n2": (0.7, 0.9), "n3": (0.3, 0.4), "n4": (0.29, 0.9)}
    nodes = node_rows({name: ([cpu], [memory]) for name, (cpu, memory) in means.items()})
    containers = stays({"a": ("n1", [0]), "b": ("n1", [0]), "c": ("n2", [0]), "d": ("n3", [0])})
    cpu = pl.Series([0.1, 0.2, 0.6, 0.4])
    store = usage_store(tmp_path, nodes=nodes, containers=containers.with_columns(cpu=cpu))
    frame = run(store, "usage/node_cohorts").select(
        "cohort", "nodes", "containers_per_node", "container_cpu_mean"
    )
    # of four nodes a share of 1,500 / 13,000 is less than one: the most skewed node all the same
    assert frame.rows()[0] == pytest.approx(("HIGH", 2, 1.5, 0.3))
    assert frame.rows()[1:] == [("LOW", 1, 0.0, None), ("MEMSKEW", 1, 0.0, None)]
    members = run(store, "usage/cohort_members", {"memskew_nodes": 6500})
    assert members.filter(cohort="MEMSKEW")["node"].to_list() == ["n2", "n4"]


def test_bands_of_the_difference(tmp_path: Path) -> None:
    differences = {"n1": 0.05, "n2": 0.3, "n3": 0.5, "n4": 0.8}
    nodes = node_rows({name: ([0.1], [0.1 + gap]) for name, gap in differences.items()})
    replayed = run(usage_store(tmp_path, nodes=nodes), "usage/util_diff_bands")
    assert replayed["bin_start"].to_list() == [0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert replayed["nodes"].to_list() == [1, 0, 0, 1, 0, 2]
    assert replayed["zone_share"].sum() == pytest.approx(1)


def test_blocks_of_time(tmp_path: Path) -> None:
    nodes, _ = random_usage(np.random.Generator(np.random.PCG64(5)))
    replayed = run(usage_store(tmp_path, nodes=nodes), "usage/node_blocks", {"block_ms": 300_000})
    assert replayed["samples"].sum() == nodes.height
    for row in replayed.iter_rows(named=True):
        start = row["block_start_ms"]
        part = nodes.filter(
            pl.col("node") == row["node"],
            pl.col("time_ms").is_between(start, start + 300_000, closed="left"),
        )
        cpu, memory = part["cpu"].to_numpy(), part["memory"].to_numpy()
        expected = (cpu.mean(), memory.mean(), cpu.var(), memory.var())
        names = ("cpu_mean", "memory_mean", "cpu_var", "memory_var")
        assert tuple(row[name] for name in names) == pytest.approx(expected, abs=1e-9)
        both = ((cpu - cpu.mean()) * (memory - memory.mean())).mean()
        assert row["cpu_memory_cov"] == pytest.approx(both, abs=1e-9)
        assert row["samples"] == part.height


def test_zones_and_their_deployments(tmp_path: Path) -> None:
    rising = [0.4 + 0.01 * k for k in range(12)]
    falling = [0.9 - 0.01 * k for k in range(12)]
    nodes = node_rows({"a": (rising, falling), "c": (rising, rising), "d": (rising, rising)})
    containers = stays({"x": ("a", list(range(12))), "y": ("c", list(range(5, 12)))})
    store = usage_store(tmp_path, nodes=nodes, containers=containers)
    records = run(store, "usage/zone_deployments").rows()
    assert records == [("A", 1, 0, 0.0), ("C", 2, 1, 0.5)]
