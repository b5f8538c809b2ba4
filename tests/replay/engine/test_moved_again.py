"""How often the same container is moved."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from replay_support import STEP_MS, workload

from tracekit.arrays import IntArray
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.steps import summarize
from tracekit.replay.policy.parse import parse_policy
from tracekit.replay.rebalance import RebalancePolicy
from tracekit.replay.view.snapshot import Snapshot


class Listed(RebalancePolicy):
    """Evicts what a list says, a call at a time."""

    reads: ClassVar = frozenset({"requests", "placed"})
    source: ClassVar = "this test"
    calls: ClassVar[list[list[int]]] = []

    def evict(self, snapshot: Snapshot) -> IntArray:
        now = self.calls[snapshot.time_ms // STEP_MS - 1]
        return np.array(now, dtype=np.int64)


def test_moves_of_what_was_moved_before_are_counted() -> None:
    load = workload([(100, 100)] * 2, [(0, 10**9, 1, 1)] * 3, steps=6)
    Listed.calls = [[0, 1], [1], [], [0, 1, 2], [2]]
    policy = Listed(interval_ms=STEP_MS)
    engine = Engine(load, parse_policy("first_fit"), np.random.default_rng(0), rebalance=policy)
    steps = engine.run().steps
    # what is evicted after a step is placed before the next one's sample
    assert steps["moves"].to_list() == [0, 0, 2, 1, 0, 3]
    assert steps["moved_again"].to_list() == [0, 0, 0, 1, 0, 2]
    row = summarize(steps)
    assert (row["moves"], row["moved_again"]) == (6, 3)
