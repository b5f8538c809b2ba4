"""What comes first of a cluster with requests: facts that need no paper."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests_support import causes

from tracekit.analysis.run import Analysis
from tracekit.analysis.summary import summary
from tracekit.answer.analysis import facts_of_analysis
from tracekit.base.units import MS_PER_DAY

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


FRAMES = {
    "usage/availability_zones": ZONES,
    "usage/node_profile": PROFILE,
    "usage/memory_rise": RISE,
    "usage/node_blocks": blocks(0.0, 2),
}


def analysis(**more: pl.DataFrame) -> Analysis:
    return Analysis(frames={**FRAMES, "services/requests": REQUESTS, **more}, missing={})


def test_zones_nodes_requests_and_the_leak_come_first() -> None:
    table, *_ = summary(analysis())
    assert [list(row) for row in table.rows] == [
        ["a", 3, "40.0 %", "20.0 %", "50.0 %", "30.0 %"],
        ["b", 1, "80.0 %", "10.0 %", "70.0 %", "-"],
        # of all nodes weighed by their size, where use is known
        ["all", 4, "50.0 %", "17.5 %", "65.0 %", "30.0 %"],
    ]
    cpu, memory, hot, idle, *requested, rises, _ = facts_of_analysis(analysis())
    assert (cpu.value, cpu.about["most_fraction"], cpu.about["highest_fraction"]) == (
        0.25, 0.4, 0.95,
    )  # fmt: skip
    assert (memory.value, memory.about["nodes"]) == (0.3, 4)
    assert (hot.because, hot.value, hot.about["names"]) == ("nodes_hot", 2, "n3, n4")
    assert (idle.because, idle.value, idle.about["names"]) == ("nodes_idle", 1, "n1")
    assert [(one.kind, one.measure, one.value) for one in requested] == [
        ("use_over_requested", "cpu", 0.25),
        ("use_over_requested", "memory", 0.75),
    ]
    assert (rises.because, rises.value, rises.about["node"]) == ("memory_rises", 0.35, "n4")
    assert rises.about["left_ms"] == round(0.1 / 0.35 * MS_PER_DAY)


def test_inferred_sizes_are_no_facts_beside_requests() -> None:
    sizes = {"resource": "cpu", "node_share": 0.18, "node_share_low": 0.17, "node_share_high": 0.19}
    counts = {"services": 71, "services_told": 71}
    study = {"service_sizes_fit": pl.DataFrame([{**sizes, **counts}])}
    beside = causes(facts_of_analysis(analysis(**study)))
    assert "size" not in beside
    assert beside[-1] == "sizes_recorded"
    # the trace of 2021 has no requests
    (size,) = facts_of_analysis(Analysis(frames={**FRAMES, **study}, missing={}))
    assert (size.value, size.low, size.high) == (0.18, 0.17, 0.19)


@pytest.mark.parametrize(("days", "because"), [(2, "grew_daily"), (15, "grew")])
def test_growth_of_all_nodes_is_a_fact_where_it_is_beyond_chance(days: int, because: str) -> None:
    made = analysis(**{"usage/node_blocks": blocks(0.01, days)})
    (grown,) = (one for one in facts_of_analysis(made) if one.kind == "growth")
    assert (grown.because, grown.measure) == (because, "cpu")
    assert grown.value == pytest.approx(0.01 if days == 2 else 0.07, rel=0.1)
