"""The latency experiment with a clock that counts, so that its table is known."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from bench_latency import liang_latency
from replay_support import workload

from tracekit.errors import TracekitError

LOAD = workload([(1000, 1000)] * 3, [(0, 9000, 10, 10)] * 8)


def test_the_three_ways_in_a_table() -> None:
    ticks = count()
    table = liang_latency(
        LOAD, np.random.default_rng(0), decisions=3, clock=lambda: next(ticks) / 1000
    )
    assert table["mode"].to_list() == ["default", "cached", "refetched"]
    assert table["policy"].to_list() == ["default_scheduler", "cmdn", "cmdn"]
    assert table["decisions"].to_list() == [3, 3, 3]
    # every reading of the clock is one millisecond after the last
    assert table["latency_p50_ms"].to_list() == pytest.approx([1.0] * 3)
    assert table["latency_p95_ms"].to_list() == pytest.approx([1.0] * 3)
    assert table["refresh_p50_ms"].to_list() == pytest.approx([0.0, 0.0, 1.0])
    assert table["both_p50_ms"].to_list() == pytest.approx([1.0, 1.0, 2.0])
    assert table["published_mean_ms"].to_list() == [0.945, 4.439, 1110.439]


def test_another_policy_of_the_extender() -> None:
    table = liang_latency(LOAD, np.random.default_rng(0), policy="bnp[weight=2]", decisions=99)
    assert table["policy"].to_list()[1:] == ["bnp[weight=2]"] * 2
    assert table["decisions"].to_list() == [4] * 3  # the half that waits
    assert (table["latency_p50_ms"] > 0).all()


def test_one_container_is_not_enough() -> None:
    with pytest.raises(TracekitError, match="needs 2 containers, the workload has 1"):
        liang_latency(workload([(10, 10)], [(0, 9, 1, 1)]), np.random.default_rng(0))
