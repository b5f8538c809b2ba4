"""Whole timelines of the plain engine, and what it conserves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import Row, workload

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import PlacementPolicy, all_policies
from tracekit.policy.view.snapshot import Snapshot
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.steps import Outcome


def run(load: Workload, policy: str = "first_fit") -> Outcome:
    return Engine(load, parse_policy(policy), np.random.default_rng(0)).run()


def timeline(outcome: Outcome, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in outcome.steps.iter_rows(named=True)]


def test_a_whole_timeline() -> None:
    """One node of 100: c0 takes 60, c1 (60) and c2 (30) come; c1 waits until c0 leaves."""
    load = workload(
        [(100, 100)],
        [(0, 2000, 60, 60), (500, 9000, 60, 60), (600, 9000, 30, 30)],
        steps=4,
    )
    outcome = run(load)
    assert outcome.node.tolist() == [0, 0, 0]
    assert outcome.time_ms.tolist() == [0, 2000, 600]
    # usage is half of the requests: 30, then 30 + 15, then 30 + 15
    assert timeline(outcome, "time_ms", "placed", "pending", "cpu_max_fraction") == [
        (0, 1, 0, pytest.approx(0.30)),
        (1000, 2, 1, pytest.approx(0.45)),
        (2000, 2, 0, pytest.approx(0.45)),
        (3000, 2, 0, pytest.approx(0.45)),
    ]


class Opens(PlacementPolicy):
    """Lets containers onto nodes from 1.2 s on."""

    reads = frozenset()
    source = "test"

    def score(self, *seen: Any) -> IntArray:
        return np.zeros(len(seen[-1]), dtype=np.int64)

    def admits(self, snapshot: Snapshot, *seen: Any) -> BoolArray:
        return np.full(len(seen[-1]), snapshot.time_ms >= 1200)


def test_waiting_containers_are_tried_again_when_something_is_freed_and_not_before() -> None:
    """c1 departs at 1.5 s and never ran; c2 arrived after the opening and departs at 2.5 s."""
    rows: list[Row] = [(0, 9000, 1, 1), (0, 1500, 1, 1), (1300, 2500, 1, 1)]
    outcome = Engine(workload([(9, 9)], rows), Opens(), np.random.default_rng(0)).run()
    assert outcome.time_ms.tolist() == [2500, -1, 1300]


def test_a_life_between_two_samples_is_placed_but_never_measured() -> None:
    outcome = run(workload([(100, 100)], [(0, 9000, 1, 1), (100, 200, 50, 50)]))
    assert outcome.node.tolist() == [0, 0]
    assert timeline(outcome, "placed") == [(1,)] * 4


def test_background_stays_on_its_node() -> None:
    background = np.zeros((2, 4, 2), dtype=np.float32)
    background[0, :, 1] = 90
    load = workload([(100, 100), (100, 100)], [(0, 9000, 40, 40)], background=background)
    outcome = run(load)
    assert outcome.steps["cpu_max_fraction"][0] == pytest.approx(0.9)
    assert outcome.steps["cpu_spread_fraction"][0] == pytest.approx(0.9 - 0.2)


def test_observed_ignores_room() -> None:
    outcome = run(workload([(100, 100)], [(0, 9000, 90, 1, 0), (0, 9000, 90, 1, 0)]), "observed")
    assert outcome.node.tolist() == [0, 0]


@some.composite
def workloads(draw: some.DrawFn) -> Workload:
    nodes = draw(some.lists(some.tuples(some.integers(1, 60), some.integers(1, 60)),
                            min_size=1, max_size=4))  # fmt: skip
    rows: list[Row] = []
    for _ in range(draw(some.integers(1, 12))):
        arrival = draw(some.integers(0, 3900))
        life = draw(some.integers(1, 4000))
        cpu, memory = draw(some.integers(0, 40)), draw(some.integers(0, 40))
        recorded = draw(some.integers(0, len(nodes) - 1))
        rows.append((arrival, arrival + life, cpu, memory, recorded))
    return workload(nodes, rows, steps=4)


@pytest.mark.slow
@pytest.mark.parametrize("policy", all_policies())
@given(workloads())
def test_capacity_and_containers_are_conserved(policy: str, load: Workload) -> None:
    engine = Engine(load, parse_policy(policy), np.random.default_rng(0))
    checked = 0

    def check() -> None:
        nonlocal checked
        now = load.use.times_ms[checked]
        running = engine.state.running
        engine.state.check_conservation()
        assert int(engine.state.cluster.containers.sum()) == int(running.sum())
        # every container that is there now runs or waits, and no other does
        assert set(np.flatnonzero(load.present(checked))) == {
            *np.flatnonzero(running),
            *engine._pending,
        }
        if engine.state.policy.filtered:
            assert (engine.state.cluster.requested <= load.nodes.capacity).all()
        assert (engine.state.placed_ms[running] <= now).all()
        checked += 1

    outcome = engine.run(check)
    assert checked == len(load.use.times_ms)
    assert ((outcome.node >= 0) == (outcome.time_ms >= 0)).all()
