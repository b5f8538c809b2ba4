from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest


@pytest.fixture(scope="module")
def usage(good_rows: Callable[[str], pl.DataFrame]) -> pl.DataFrame:
    return good_rows("MSResource").with_columns(
        pl.col("instance_cpu_usage", "instance_memory_usage").cast(float),
        pl.col("timestamp").cast(int),
    )


def test_truth_holds_the_means_of_the_printed_rows(
    usage: pl.DataFrame, tiny_truth: dict[str, pl.DataFrame]
) -> None:
    result = usage.group_by(container_id="msinstanceid").agg(
        pl.len().alias("rows"),
        pl.col("timestamp").min().alias("from_ms"),
        pl.col("instance_cpu_usage").mean().alias("cpu"),
        pl.col("instance_memory_usage").max().alias("memory_peak"),
    )
    both = tiny_truth["container"].join(result, on="container_id")

    assert both.height == tiny_truth["container"].height == 80
    assert both["samples"].to_list() == both["rows"].to_list()
    assert both["first_ms"].to_list() == both["from_ms"].to_list()
    assert both["cpu_mean_fraction"].to_list() == pytest.approx(both["cpu"].to_list())
    assert both["memory_max_fraction"].to_list() == both["memory_peak"].to_list()


def test_names_belong_to_the_container(
    usage: pl.DataFrame, tiny_truth: dict[str, pl.DataFrame]
) -> None:
    named = usage.filter(
        (pl.col("msname").str.len_chars() == 64) & (pl.col("nodeid").str.len_chars() == 64)
    )
    rows = named.select("msinstanceid", "msname", "nodeid").unique().sort("msinstanceid")
    truth = tiny_truth["container"].sort("container_id")

    assert rows["msinstanceid"].to_list() == truth["container_id"].to_list()
    assert rows["msname"].to_list() == truth["service_id"].to_list()
    assert rows["nodeid"].to_list() == truth["node_id"].to_list()


def test_cpu_lies_on_the_grid_up_to_float_noise(usage: pl.DataFrame) -> None:
    scaled = usage["instance_cpu_usage"].to_numpy() * 24_000
    distance = np.abs(scaled - np.rint(scaled))

    assert 0.6 < np.mean(distance < 1e-4) <= 1
    assert np.mean(distance == 0) < 0.05
    assert scaled.min() > 0


def test_rows_are_blocks_of_containers_in_time_order(tiny_lines: dict[str, list[str]]) -> None:
    rows = [line.split(",") for line in tiny_lines["MSResource_1.csv"][1:]]
    times = [int(row[6]) for row in rows if len(row) == 7]
    descents = sum(after < before for before, after in itertools.pairwise(times))

    # 80 containers in blocks of 16, and up to 3 x 2 repeated rows out of place
    assert 4 <= descents <= 4 + 6
