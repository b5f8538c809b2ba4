"""What a rebalancer did is told whenever it did it: moves, and the nodes that it emptied."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from replay_support import STEP_MS, workload

from tracekit.base.arrays import IntArray
from tracekit.policy.parse import parse_policy
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.policy.view.snapshot import Snapshot
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.steps import summarize


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
    load = dataclasses.replace(load, settled_ms=settled * STEP_MS)
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
    load = dataclasses.replace(load, pinned=np.array([0, 1, 1]))
    Listed.calls = [[], [1, 2], [], [], []]
    rng = np.random.default_rng(0)
    engine = Engine(load, parse_policy("first_fit"), rng, rebalance=Listed(interval_ms=STEP_MS))
    row = summarize(engine.run().steps)
    assert [row[f"nodes_used_{end}"] for end in ("max", "mean", "end")] == [2, 1.5, 1]
