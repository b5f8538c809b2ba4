"""Nodes whose memory rises steadily, against numpy's line, among nodes that only seem to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from usage_support import usage_store

from tracekit.store.query import run

STEP_MS = 1_800_000
STEPS = 96


def test_a_leak_is_found_and_a_day_a_step_and_a_short_one_are_not(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    at = np.arange(STEPS)
    noise = 0.005 * rng.standard_normal(STEPS)
    series = {
        "leaks": 0.2 + 0.6 * at / (STEPS - 1) + noise,
        "slowly": 0.5 + 0.1 * at / (STEPS - 1) + noise,
        "daily": 0.5 + 0.3 * np.sin(2 * np.pi * (at / 48 - 0.25)) + noise,
        "at once": np.where(at < STEPS // 2, 0.3, 0.7) + noise,
        "stands": 0.4 + noise,
        "hardly": 0.4 + 0.03 * at / (STEPS - 1),
        "falls": 0.9 - 0.6 * at / (STEPS - 1),
        "short": (0.2 + 0.6 * at / 40)[:40],
    }
    rows = [
        {"time_ms": step * STEP_MS, "node": node, "cpu": 0.3, "memory": float(value)}
        for node, values in series.items()
        for step, value in enumerate(values)
    ]
    replayed = run(usage_store(tmp_path, nodes=pl.DataFrame(rows)), "usage/memory_rise")
    assert replayed["node"].to_list() == ["leaks", "slowly"]
    for row in replayed.to_dicts():
        days = at * STEP_MS / 86_400_000
        slope, first = np.polyfit(days, series[row["node"]], 1)
        last = first + slope * days[-1]
        assert row["memory_per_day_fraction"] == pytest.approx(slope, abs=1e-6)
        assert row["memory_first_fraction"] == pytest.approx(first, abs=1e-6)
        assert row["memory_last_fraction"] == pytest.approx(last, abs=1e-6)
        assert row["days_left"] == pytest.approx((1 - last) / slope, rel=1e-4)
        r = np.corrcoef(days, series[row["node"]])[0, 1]
        assert row["r_squared"] == pytest.approx(r**2, abs=1e-6)
