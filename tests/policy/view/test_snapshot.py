"""A policy sees what is, and measurements of what was; nothing else can be reached."""

from __future__ import annotations

import dataclasses
import gc
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
import pytest
from replay_support import STEP_MS, snapshot, workload

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About
from tracekit.policy.placement import PlacementPolicy, Reads, Scores
from tracekit.policy.view.snapshot import Container, Snapshot, best
from tracekit.replay.engine.engine import Engine

SEEN: list[tuple[int, int | None, list[list[float]]]] = []


@dataclass(frozen=True, kw_only=True)
class Curious(PlacementPolicy):
    """Looks at everything it is given, and writes down what it finds."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"usage", "placed"})
    source: ClassVar[str] = "this test"

    delay_ms: Annotated[int, About("How old measurements are at least.")] = 0
    log: Annotated[list[Snapshot], About("What it was shown.")] = field(default_factory=list)

    def metric_time_ms(self, now_ms: int) -> int:
        return now_ms - self.delay_ms

    def metric_samples(self) -> int:
        return 100

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        assert container.recorded_node is None
        self.log.append(snapshot)
        usage = snapshot.usage
        history = getattr(usage, "_fractions")  # noqa: B009 - looks where it should not
        SEEN.append((snapshot.time_ms, usage.time_ms, history[:, :, 0].tolist()))
        return -nodes


#: Two nodes, six containers, one each second; each uses half of 100 of a node's 1000.
LOAD = workload(
    [(1000, 1000), (1000, 1000)],
    [(at * STEP_MS, 100_000, 100, 100, 0) for at in range(6)],
    steps=6,
)


@pytest.fixture
def seen() -> list[tuple[int, int | None, list[list[float]]]]:
    SEEN.clear()
    return SEEN


def test_only_complete_steps_of_the_past_are_measured(
    seen: list[tuple[int, int | None, list[list[float]]]],
) -> None:
    Engine(LOAD, Curious(), np.random.default_rng(0)).run()
    assert [(now, newest) for now, newest, _ in seen] == [
        (0, None), (1000, 0), (2000, 1000), (3000, 2000), (4000, 3000), (5000, 4000)
    ]  # fmt: skip
    # the sample at 2000 holds the three containers of 0, 1000 and 2000
    assert seen[3][2] == [[0.05, 0.0], [0.1, 0.0], [pytest.approx(0.15), 0.0]]


def test_staleness_is_the_policys(seen: list[tuple[int, int | None, list[list[float]]]]) -> None:
    Engine(LOAD, Curious(delay_ms=2500), np.random.default_rng(0)).run()
    assert [newest for _, newest, _ in seen] == [None, None, None, 0, 1000, 2000]


def test_no_object_behind_a_snapshot_knows_the_future() -> None:
    """Walk all that can be reached from what the policy was shown first."""
    policy = Curious()
    engine = Engine(LOAD, policy, np.random.default_rng(0))
    engine._events_until(2 * STEP_MS)
    shown, after = policy.log[-1], reachable(policy.log[-1])
    assert shown.time_ms == 2 * STEP_MS
    assert not any(isinstance(thing, type(LOAD)) for thing in after)
    assert any(thing is engine.state.cluster.amounts for thing in after)  # the walk does walk
    whole = {
        id(one)
        for one in (
            LOAD.use.values,
            LOAD.use.background,
            LOAD.containers.request,
            LOAD.containers.arrival_ms,
        )
    }
    assert not whole & {id(thing) for thing in after}
    assert [row.tolist() for row in shown.placed.request] == [[100, 100], [100, 100]]


def reachable(start: object) -> list[object]:
    """Objects that references lead to, modules and classes left out."""
    found: dict[int, object] = {}
    ahead = [start]
    while ahead:
        thing = ahead.pop()
        if id(thing) in found or isinstance(thing, type(gc) | type):
            continue
        found[id(thing)] = thing
        ahead.extend(gc.get_referents(thing))
        if isinstance(thing, np.ndarray) and thing.base is not None:
            ahead.append(thing.base)
    return list(found.values())


def test_arrays_cannot_be_written() -> None:
    seen = snapshot([(10, 10)], [(1, 1)])
    with pytest.raises(ValueError, match="read-only"):
        seen.requested[0, 0] = 0


def test_what_is_not_declared_is_not_handed_over() -> None:
    full = snapshot([(10, 10)], [(1, 1)])
    seen = dataclasses.replace(full, known_usage=None, known_placed=None)
    with pytest.raises(TracekitError, match="'usage'"):
        _ = seen.usage
    with pytest.raises(TracekitError, match="'placed'"):
        _ = seen.placed


# How ties are broken.


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (np.array([1, 3, 3]), 1),
        (np.array([-5]), 0),
        (np.array([0.1 + 0.2, 0.3]), 0),  # equal after rounding, though 0.1 + 0.2 > 0.3
        (np.array([0.3, 0.1 + 0.2]), 0),
        (np.array([0.3, 0.3 + 1e-9]), 1),
    ],
)
def test_first_of_the_highest(scores: np.ndarray, expected: int) -> None:
    assert best(scores, "first", np.random.default_rng(0)) == expected


def test_reservoir_is_even_over_the_highest_only() -> None:
    rng = np.random.default_rng(1)
    scores = np.array([7, 1, 7, 7, 0, 7])
    chosen = [best(scores, "reservoir", rng) for _ in range(4000)]
    counts = np.bincount(chosen, minlength=6)
    assert counts[[1, 4]].tolist() == [0, 0]
    # 1000 each, standard deviation 27
    assert np.abs(counts[[0, 2, 3, 5]] - 1000).max() < 5 * 27
