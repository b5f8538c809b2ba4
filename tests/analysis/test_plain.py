"""What comes first of a cluster with requests: words that need no paper."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tracekit.analysis import Analysis
from tracekit.analysis.plain import head
from tracekit.analysis.summary import verdicts

HALF_HOUR = 1_800_000
ZONES = pl.DataFrame(
    {
        "availability_zone": ["a", "b"],
        "nodes": [3, 1],
        "nodes_without_use": [1, 0],
        "cpu_cores": [30.0, 10.0],
        "cpu_requested_share": [0.4, 0.8],
        "cpu_used_share": [0.2, 0.1],
        "memory_bytes": [1e9, 3e9],
        "memory_requested_share": [0.5, 0.7],
        "memory_used_share": [0.3, None],
    }
)
PROFILE = pl.DataFrame(
    {
        "node": ["n1", "n2", "n3", "n4"],
        "cpu_mean": [0.05, 0.2, 0.3, 0.4],
        "cpu_max": [0.1, 0.5, 0.95, 0.6],
        "memory_mean": [0.02, 0.3, 0.3, 0.5],
        "memory_max": [0.1, 0.4, 0.5, 0.92],
    }
)
REQUESTS = pl.DataFrame(
    {
        "service": ["web"],
        "containers": [4],
        "cpu_requested_cores": [20.0],
        "cpu_used_cores": [5.0],
        "memory_requested_gib": [8.0],
        "memory_used_gib": [6.0],
    }
)
RISE = pl.DataFrame(
    {
        "node": ["n4"],
        "days": [2.0],
        "memory_first_fraction": [0.2],
        "memory_last_fraction": [0.9],
        "memory_per_day_fraction": [0.35],
        "r_squared": [0.99],
        "days_left": [0.1 / 0.35],
    }
)


def blocks(growth_per_day: float, days: int, seed: int = 0) -> pl.DataFrame:
    """Blocks of half an hour of two nodes, a day as a sine."""
    rng = np.random.default_rng(seed)
    at = np.arange(48 * days)
    cpu = 0.3 + 0.1 * np.sin(2 * np.pi * at / 48) + growth_per_day * at / 48
    noisy = cpu + 0.001 * rng.standard_normal((2, len(at)))
    return pl.concat(
        pl.DataFrame(
            {"block_start_ms": at * HALF_HOUR, "cpu_mean": one, "memory_mean": 0.5 + 0 * one}
        ).with_columns(node=pl.lit(f"n{node}"))
        for node, one in enumerate(noisy)
    )


def analysis(**more: pl.DataFrame) -> Analysis:
    frames = {
        "usage/availability_zones": ZONES,
        "usage/node_profile": PROFILE,
        "services/requests": REQUESTS,
        "usage/memory_rise": RISE,
        "usage/node_blocks": blocks(0.0, 2),
    }
    return Analysis(frames={**frames, **more}, missing={})


def test_zones_nodes_requests_and_the_leak_come_first() -> None:
    table, said = head(analysis())
    assert table is not None
    assert [list(row) for row in table.rows] == [
        ["a", 3, "40.0 %", "20.0 %", "50.0 %", "30.0 %"],
        ["b", 1, "80.0 %", "10.0 %", "70.0 %", "-"],
        # of all nodes weighed by their size, where use is known
        ["all", 4, "50.0 %", "17.5 %", "65.0 %", "30.0 %"],
    ]
    assert table.note.endswith("; 1 node without recorded use: in no share used")
    used, standing_out, requests, rising = said
    assert "the median of 4 nodes uses 25.0 % of its CPU on average (the most used 40.0 %" in used
    assert "hot, 90 % of CPU or memory at least once: 2 (n3 and n4)" in standing_out
    assert "below 10 % of both on average: 1 (n1)" in standing_out
    assert "5 of 20 cores of CPU requested (25.0 %) and 6 of 8 GiB of memory" in requests
    assert rising == (
        "1 node rises steadily in memory, as a leak does: n4 from 20.0 % to 90.0 % in 2.0 days"
        " (35.0 points a day), full in 7 h"
    )


def test_the_trace_of_2021_has_no_requests_and_is_told_as_before() -> None:
    assert head(analysis(**{"services/requests": REQUESTS.clear()})) == (None, [])


def test_inferred_sizes_are_not_told_beside_requests() -> None:
    sizes = {"resource": "cpu", "node_share": 0.18, "node_share_low": 0.17, "node_share_high": 0.19}
    counts = {"services": 71, "services_told": 71}
    study = {"service_sizes_fit": pl.DataFrame([{**sizes, **counts}])}
    said = " ".join(verdicts(analysis(**study)))
    assert "size of a container" not in said
    assert "sizes of containers are not inferred here, as requests are recorded" in said
    without = " ".join(verdicts(Analysis(frames=study, missing={})))
    assert "CPU size of a container: 18" in without


@pytest.mark.parametrize("days", [2, 15])
def test_growth_of_all_nodes_is_told_where_it_is_beyond_chance(days: int) -> None:
    _, said = head(analysis(**{"usage/node_blocks": blocks(0.01, days)}))
    grown = said[-1]
    assert "mean use of the nodes grows, CPU by 1.0" in grown
    assert "memory" not in grown
    assert ("weekdays may differ" in grown) == (days < 14)


def test_where_nothing_grows_nothing_is_said() -> None:
    for seed in range(20):
        _, said = head(analysis(**{"usage/node_blocks": blocks(0.0, 2, seed)}))
        assert not [one for one in said if "grows" in one]
