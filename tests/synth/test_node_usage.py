from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tracekit.synth.node_usage import zone_of

STEPS = 240


@pytest.fixture(scope="module")
def node_rows(good_rows: Callable[[str], pl.DataFrame]) -> pl.DataFrame:
    rows = good_rows("Node").select(
        time_ms=pl.col("timestamp").cast(int),
        node="nodeid",
        cpu=pl.col("node_cpu_usage").cast(float),
        memory=pl.col("node_memory_usage").cast(float),
    )
    return rows.filter(pl.col("time_ms") < 7_200_000)


def test_the_planted_correlation_is_in_the_printed_rows(
    node_rows: pl.DataFrame, tiny_truth: dict[str, pl.DataFrame]
) -> None:
    zones = set()
    for node, zone, planted in (
        tiny_truth["node"].select("node_id", "zone", "pearson_r").iter_rows()
    ):
        series = node_rows.filter(pl.col("node") == node)
        zones.add(zone)
        if zone == "U":
            assert planted is None
            assert series["memory"].n_unique() == 1
            continue
        result = float(np.corrcoef(series["cpu"].to_numpy(), series["memory"].to_numpy())[0, 1])
        assert result == pytest.approx(planted, abs=1e-6)
        assert zone == zone_of(result)
    assert zones == {"A", "B", "C", "U"}


@pytest.mark.parametrize(
    ("r", "zone"),
    [(-0.300001, "A"), (-0.3, "B"), (0.299999, "B"), (0.3, "C"), (float("nan"), "U")],
)
def test_zone_edges(r: float, zone: str) -> None:
    assert zone_of(r) == zone


def test_truth_holds_the_statistics_of_the_printed_rows(
    node_rows: pl.DataFrame, tiny_truth: dict[str, pl.DataFrame]
) -> None:
    for row in tiny_truth["node"].iter_rows(named=True):
        series = node_rows.filter(pl.col("node") == row["node_id"])
        cpu, memory = series["cpu"].to_numpy(), series["memory"].to_numpy()
        expected = {
            "samples": STEPS,
            "cpu_mean": np.mean(cpu),
            "cpu_median": np.median(cpu),
            "cpu_std": np.std(cpu),
            "cpu_max": np.max(cpu),
            "memory_mean": np.mean(memory),
            "memory_median": np.median(memory),
            "memory_std": np.std(memory),
            "memory_max": np.max(memory),
            "util_diff": np.mean(np.abs(cpu - memory)),
        }
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-12)


def test_a_node_uses_at_least_what_its_containers_use(
    node_rows: pl.DataFrame, good_rows: Callable[[str], pl.DataFrame], tiny: Path
) -> None:
    """Fractions are of the limits and capacities in the tables beside the archives."""
    nodes = pl.read_csv(tiny / "sizes" / "nodes.csv").select(
        nodeid="node", node_milli="cpu_milli", node_bytes="memory_bytes"
    )
    limits = pl.read_csv(tiny / "sizes" / "containers.csv").select(
        "cpu_limit_milli", "memory_limit_bytes", msinstanceid="container"
    )
    below = (
        good_rows("MSResource")
        .join(limits, on="msinstanceid")
        .join(nodes, on="nodeid")
        .group_by(node="nodeid", time_ms=pl.col("timestamp").cast(int))
        .agg(
            (
                pl.col("instance_cpu_usage").cast(float)
                * pl.col("cpu_limit_milli")
                / pl.col("node_milli")
            ).sum(),
            (
                pl.col("instance_memory_usage").cast(float)
                * pl.col("memory_limit_bytes")
                / pl.col("node_bytes")
            ).sum(),
        )
    )
    both = node_rows.join(below, on=["node", "time_ms"])

    assert both.height > 10 * STEPS
    assert both.select((pl.col("cpu") - pl.col("instance_cpu_usage")).min()).item() > 0
    assert both.select((pl.col("memory") - pl.col("instance_memory_usage")).min()).item() > 0
    assert node_rows["memory"].is_between(0, 1).all()


def test_rows_are_blocks_in_time_order_after_a_stray_first_row(node_rows: pl.DataFrame) -> None:
    times = node_rows["time_ms"]

    assert times[0] > 0.8 * 7_200_000
    assert times[1:].is_sorted()
    assert node_rows.group_by("node").len()["len"].to_list() == [STEPS] * 12


def test_the_stray_sample_moves_no_mean(
    good_rows: Callable[[str], pl.DataFrame], tiny_truth: dict[str, pl.DataFrame]
) -> None:
    stray = good_rows("Node").filter(pl.col("timestamp").cast(int) > 7_200_000)
    truth = tiny_truth["node"].filter(pl.col("node_id") == stray["nodeid"][0])

    assert stray.height == 1
    assert float(stray["node_cpu_usage"][0]) == pytest.approx(truth["cpu_mean"][0])
    assert float(stray["node_memory_usage"][0]) == pytest.approx(truth["memory_mean"][0])
