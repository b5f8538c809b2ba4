"""What a rebalancer did is told whenever it did it: moves, and the nodes that it emptied."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import STEP_MS, changed, workload

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.circumstances import with_assumptions
from tracekit.policy.entrant import parse_entrant
from tracekit.policy.parse import parse_policy
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.policy.view.snapshot import Snapshot
from tracekit.policy.view.usage import UseOverTime
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.steps import summarize
from tracekit.replay.runs.one import replay_one


class Listed(RebalancePolicy):
    """Evicts what a list says, a call at a time."""

    reads: ClassVar = frozenset({"requests", "placed"})
    source: ClassVar = "this test"
    calls: ClassVar[list[list[int]]] = []

    def evict(self, snapshot: Snapshot) -> IntArray:
        now = self.calls[snapshot.time_ms // STEP_MS - 1]
        return np.array(now, dtype=np.int64)


def replayed(
    calls: list[list[int]], *, policy: str = "first_fit", settled: int = 0
) -> pl.DataFrame:
    """Steps of three containers on two nodes, that are filled after so many steps."""
    load = workload([(100, 100)] * 2, [(0, 10**9, 1, 1)] * 3, steps=6)
    load = changed(load, use={"settled_ms": settled * STEP_MS})
    Listed.calls = calls
    rebalancer = Listed(interval_ms=STEP_MS)
    rng = np.random.default_rng(0)
    return Engine(load, parse_policy(policy), rng, rebalance=rebalancer).run().steps


def counted(row: dict[str, Any]) -> tuple[int, int, int]:
    return row["moves"], row["moves_while_filling"], row["moved_again"]


def test_moves_of_what_was_moved_before_are_counted() -> None:
    steps = replayed([[0, 1], [1], [], [0, 1, 2], [2]])
    # what is evicted after a step is placed before the next one's sample; after the last nothing is
    assert steps["moves"].to_list() == [0, 0, 2, 1, 0, 3]
    assert steps["moved_again"].to_list() == [0, 0, 0, 1, 0, 2]
    assert counted(summarize(steps)) == (6, 0, 3)


@pytest.mark.parametrize(
    ("calls", "moves"),
    [
        ([[0, 1, 2], [0], [], [], []], (4, 4, 1)),  # while it fills alone
        ([[], [], [1], [1], []], (2, 0, 1)),  # afterwards alone
        ([[1], [], [], [1], []], (2, 1, 1)),  # moved again is what was moved while it filled
    ],
)
def test_moves_while_the_cluster_fills_count(
    calls: list[list[int]], moves: tuple[int, ...]
) -> None:
    row = summarize(replayed(calls, settled=4))
    assert counted(row) == moves


def test_nodes_that_are_emptied_later_are_told() -> None:
    load = workload([(100, 100), (2, 2)], [(0, 10**9, 1, 1)] * 3, steps=6)
    load = changed(load, rules={"pinned": np.array([0, 1, 1])})
    Listed.calls = [[], [1, 2], [], [], []]
    rng = np.random.default_rng(0)
    engine = Engine(load, parse_policy("first_fit"), rng, rebalance=Listed(interval_ms=STEP_MS))
    row = summarize(engine.run().steps)
    assert [row[f"nodes_used_{end}"] for end in ("max", "mean", "end")] == [2, 1.5, 1]


# How full each node is over time, beside sorting all of it; and the ceiling that it is held to.


@given(some.integers(1, 700), some.integers(1, 3), some.integers(0, 700), some.integers(0, 99))
def test_the_percentile_over_time_is_the_nearest_rank(
    steps: int, nodes: int, settled: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    load = workload([(1, 1)] * nodes, [(0, 9000, 1, 1)], steps=steps)
    load = changed(load, use={"settled_ms": settled * STEP_MS})
    use = rng.integers(0, 50, (2, steps, nodes)).astype(np.float64)
    collected, first = UseOverTime(load), 0
    while first < steps:
        until = first + int(rng.integers(1, 90))
        collected.add(first, use[:, first:until])
        first = until
    judged = use[:, settled:] if settled < steps else use
    many = judged.shape[1]
    results = collected.result()
    for node in range(nodes):
        in_order = sorted(judged[0, :, node].tolist())
        assert results.cpu_p99[node] == in_order[math.ceil(0.99 * many) - 1]
        assert results.highest[:, node].tolist() == judged[:, :, node].max(axis=1).tolist()


def test_a_replay_is_judged_at_the_ceiling_that_is_set() -> None:
    # one node of 100, used at 50 of CPU at every step and at 95 of memory
    load = workload([(100, 100)], [(0, 9000, 50, 95)], steps=4, used_share=1.0)
    rng = np.random.default_rng(0)
    set_ = {"ceiling_cpu_fraction": "0.4", "ceiling_memory_fraction": "0.95"}
    lower = with_assumptions(load, {"ceiling_cpu_fraction": "0.4"}, rng)
    assert lower.provenance.assumptions["ceiling_memory_fraction"] == 0.9
    for one, above in ((load, 4), (lower, 4), (with_assumptions(load, set_, rng), 4)):
        row = replay_one(one, parse_entrant("best_fit"), 0).row
        assert row["above_ceiling_node_steps"] == above
        assert row["cpu_p99_over_time_fraction"] == pytest.approx(0.5)
    high = with_assumptions(load, {"ceiling_memory_fraction": "0.95"}, rng)
    assert replay_one(high, parse_entrant("best_fit"), 0).row["above_ceiling_node_steps"] == 0


@pytest.mark.parametrize("value", ["80", "0", "much"])
def test_a_ceiling_that_is_no_share_is_refused(value: str) -> None:
    load = workload([(100, 100)], [(0, 9000, 50, 50)])
    with pytest.raises(TracekitError):
        with_assumptions(load, {"ceiling_cpu_fraction": value}, np.random.default_rng(0))
