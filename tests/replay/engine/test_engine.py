"""Whole timelines of the plain engine, what it conserves, its residents and explanations."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import Row, changed, workload

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import parse_entrant
from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import PlacementPolicy, all_policies
from tracekit.policy.view.snapshot import Snapshot
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.explain import explain
from tracekit.replay.engine.samples import PlacedRows, Residents
from tracekit.replay.engine.steps import Outcome
from tracekit.replay.runs.run import replay


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


#: n1 is too small for c2, and full once c1 is there.
LOAD = workload(
    [(1000, 1000), (200, 200), (1000, 500)],
    [(0, 9000, 300, 300), (10, 9000, 150, 150), (20, 9000, 250, 250)],
)


@pytest.mark.parametrize("policy", ["least_allocated", "best_fit", "cwt", "target_load_packing"])
@pytest.mark.parametrize("container", ["c0", "c1", "c2"])
def test_it_explains_what_the_replay_does(policy: str, container: str) -> None:
    result = explain(LOAD, parse_entrant(policy), container)
    placed = replay(LOAD, [parse_entrant(policy)], seed=0).placements
    (node,) = placed.filter(placed["container"] == container)["node"].to_list()
    assert result.chosen == result.nodes[0].node == node
    assert len(result.nodes) == LOAD.nodes.count
    scored = [one.score for one in result.nodes if one.score is not None]
    assert scored == sorted(scored, reverse=True)


def test_the_filter_that_removed_a_node_is_named() -> None:
    result = explain(LOAD, parse_entrant("least_allocated"), "c2")
    removed = {one.node: one.removed for one in result.nodes if one.removed}
    assert [re.findall(r"\w+_\w+", text) for text in removed.values()] == [
        ["cpu_milli", "memory_bytes"]
    ]
    assert {name for one in result.nodes for name in one.parts} == {"cpu", "memory"}


def test_who_fits_nowhere_waits() -> None:
    load = workload([(10, 10)] * 2, [(0, 9000, 5, 5), (1, 9000, 50, 5)])
    result = explain(load, parse_entrant("first_fit"), "c1")
    assert result.chosen is None
    assert [one.removed for one in result.nodes] == ["too little cpu_milli"] * 2


def test_a_container_on_which_no_policy_decides_is_named() -> None:
    late = workload([(1000, 1000)], [(0, 9000, 5, 5), (10**9, 10**9 + 1, 5, 5)])
    pinned = changed(LOAD, rules={"pinned": np.array([0, 2, -1])})
    for load, container, node in ((late, "c1", ""), (pinned, "c1", "n2")):
        with pytest.raises(TracekitError, match=container) as raised:
            explain(load, parse_entrant("first_fit"), container)
        assert node in raised.value.what


def test_the_beginning_of_an_id_is_enough_if_it_is_the_only_one() -> None:
    first_fit = parse_entrant("first_fit")
    named = changed(LOAD, containers={"ids": ("web-1", "web-2", "db-1")})
    assert explain(named, first_fit, "d") == explain(named, first_fit, "db-1")
    with pytest.raises(TracekitError):
        explain(LOAD, parse_entrant("first_fit"), "c")
    with pytest.raises(TracekitError):
        explain(LOAD, parse_entrant("first_fit"), "d7")


NODES, CONTAINERS = 4, 12


@given(
    some.lists(some.tuples(some.integers(0, CONTAINERS - 1), some.integers(0, NODES - 1))),
    some.sets(some.integers(0, NODES - 1)),
    some.integers(0, 5),
)
def test_residents_are_those_of_a_count(
    moves: list[tuple[int, int]], requested: set[int], known_from: int
) -> None:
    """A container that runs leaves when it is named, one that does not comes to the node."""
    running, node = np.zeros(CONTAINERS, np.bool_), np.full(CONTAINERS, -1)
    residents = Residents(running, node, NODES)
    for at, (index, where) in enumerate(moves):
        if at == known_from:
            residents = Residents(running, node, NODES)
        if running[index]:
            residents.remove(index, int(node[index]))
        else:
            node[index] = where
            residents.add(index, where)
        running[index] = not running[index]
    result = residents.on(np.array(sorted(requested), dtype=np.int64))
    assert result.tolist() == np.flatnonzero(running & np.isin(node, sorted(requested))).tolist()


# What policies are shown of running containers is as if copied each time.


RESIDENT = workload([(10, 10)], [(0, 9000, at, 2 * at, 0) for at in range(20)])


@given(some.lists(some.sets(some.integers(0, 19)), max_size=12), some.booleans())
def test_rows_are_those_of_the_containers_and_stay_so(looks: list[set[int]], growing: bool) -> None:
    rows, shown, running = PlacedRows(RESIDENT), [], set[int]()
    for look in looks:
        running = running | look if growing else look
        at = np.array(sorted(running), dtype=np.int64)
        shown.append((at, *rows.show(at)))
    for at, request, limit, service in shown:
        assert np.array_equal(request, RESIDENT.containers.request[at])
        assert np.array_equal(limit, RESIDENT.containers.limit[at])
        assert service[:] == tuple(RESIDENT.containers.services[index] for index in at)
        assert not request.flags.writeable
