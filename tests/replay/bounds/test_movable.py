"""The movable share: what of the use of nodes a policy can move."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import changed, widened, workload

from tracekit.cluster.parts import Losses
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.bounds.measures import bounds_of
from tracekit.replay.runs.run import replay
from tracekit.replay.runs.run_folder import manifest_of

STEPS = 4


def load_of(seed: int) -> Workload:
    """Some containers are daemons, some stay where they were observed; two resources and GPUs."""
    rng = np.random.default_rng(seed)
    nodes, containers = int(rng.integers(1, 5)), int(rng.integers(1, 8))
    rows = [
        (int(at), int(at + length), 5, 5)
        for at, length in zip(
            rng.integers(0, 3000, containers), rng.integers(1, 4000, containers), strict=True
        )
    ]
    background = rng.uniform(0, 9, (2, STEPS, nodes)).astype(np.float32)
    load = workload([(100, 100)] * nodes, rows, steps=STEPS, background=background)
    load = widened(load, np.full(nodes, 100), rng.integers(0, 2, containers), "gpu")
    lost, preempts = rng.random(2) < 0.5
    losses = Losses(node=np.array([0]), time_ms=rng.integers(1, 4000, 1)) if lost else None
    return changed(
        load,
        nodes={"losses": losses},
        use={
            "values": load.use.values * rng.uniform(0, 1, load.use.values.shape).astype(np.float32),
            "settled_ms": int(rng.integers(0, 3)) * 1000,
        },
        rules={
            "daemon": rng.random(containers) < 0.3,
            "pinned": np.where(rng.random(containers) < 0.4, 0, -1),
            "priority": rng.integers(0, 3, containers) if preempts else None,
            "preemption": preempts,
        },
    )


@given(some.integers(0, 2**32), some.booleans())
def test_it_is_the_use_of_what_moves_over_all_use(seed: int, rebalanced: bool) -> None:
    load = load_of(seed)
    moved, whole = np.zeros(3), np.zeros(3)
    for step, now in enumerate(load.use.times_ms.tolist()):
        if now < load.use.settled_ms:
            continue
        whole[:2] += load.use.background[:, step].sum(axis=1)
        for c in range(load.containers.count):
            if not load.containers.arrival_ms[c] <= now < load.containers.departure_ms[c]:
                continue
            use = np.array(
                [*load.use.at(step)[:, c], load.containers.request[c, 2]], dtype=np.float64
            )
            whole += use
            assert load.rules.daemon is not None
            assert load.rules.pinned is not None
            gone = load.nodes.losses is not None and now >= load.nodes.losses.time_ms[0]
            evictable = (
                load.rules.priority is not None
                and load.rules.priority[c] < load.rules.priority.max()
            )
            if not load.rules.daemon[c] and (
                rebalanced or gone or evictable or load.rules.pinned[c] < 0
            ):
                moved += use
    found = bounds_of(load, rebalanced=rebalanced).movable
    expected = {
        name: m / w
        for name, m, w in zip(("cpu", "memory", "gpu"), moved, whole, strict=True)
        if w > 0
    }
    if not load.containers.request[:, 2].any():
        expected.pop("gpu", None)
    assert found == pytest.approx(expected)


def test_it_stands_in_the_manifest() -> None:
    background = np.full((2, STEPS, 1), 30, dtype=np.float32)
    load = workload([(100, 100)], [(0, 9000, 20, 10)], used_share=1.0, background=background)
    made = replay(load, [parse_policy("first_fit")], seed=0)
    share = manifest_of(made)["workload"]["movable"]
    assert share == pytest.approx({"cpu": 20 / 50, "memory": 10 / 40})
