"""A workload on some of its nodes, and with more containers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from constraint_support import constrained
from hypothesis import given, reject
from hypothesis import strategies as some
from replay_support import changed, workload
from tests_support import the

from tracekit.base.arrays import stream
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.enlarged import multiplied, scale_of
from tracekit.cluster.on_nodes import beside_daemons, on_nodes
from tracekit.cluster.workload import Workload


def pinned_load() -> Workload:
    """Three nodes; c0 is the daemon of n0, c1 that of n2, c2 stays on n2, c3 goes anywhere."""
    background = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    rows = [(0, 9000, 10 + at, 1, node) for at, node in enumerate([0, 2, 2, 1])]
    load = workload([(100, 100), (200, 100), (300, 100)], rows, background=background)
    return changed(
        load,
        rules={"pinned": np.array([0, 2, 2, -1]), "daemon": np.array([True, True, False, False])},
    )


@pytest.mark.parametrize(
    ("nodes", "containers", "pinned", "recorded"),
    [
        ([0, 1, 2], ["c0", "c1", "c2", "c3"], [0, 2, 2, -1], [0, 2, 2, 1]),
        ([0, 1], ["c0", "c2", "c3"], [0, -1, -1], [0, -1, 1]),
        ([2, 1], ["c1", "c2", "c3"], [0, 0, -1], [0, 0, 1]),
        ([1], ["c2", "c3"], [-1, -1], [-1, 0]),
    ],
)
def test_daemons_go_with_their_node(
    nodes: list[int], containers: list[str], pinned: list[int], recorded: list[int]
) -> None:
    load = pinned_load()
    made = on_nodes(load, np.array(nodes))
    assert made.nodes.ids == tuple(f"n{at}" for at in nodes)
    assert made.nodes.capacity.tolist() == load.nodes.capacity[nodes].tolist()
    assert list(made.containers.ids) == containers
    assert made.rules.pinned is not None
    assert made.rules.pinned.tolist() == pinned
    assert made.containers.recorded_node.tolist() == recorded
    assert made.use.at(0)[0].tolist() == [(10 + int(name[1:])) / 2 for name in containers]


def test_what_no_container_explains_is_spread_over_the_nodes_that_stay() -> None:
    load = changed(pinned_load(), nodes={"reserved": np.array([[0, 40], [0, 60], [0, 25]])})
    made = on_nodes(load, np.array([2, 0]))
    # node 1 used 1, 4, 7, 10 millicores; of n2 289.5 are free on average, of n0 95.5
    gone = load.use.background[0, :, 1]
    free = np.array([300 - 6.5, 100 - 4.5])
    wanted = load.use.background[0][:, [2, 0]] + np.multiply.outer(gone, free / free.sum())
    assert made.use.background[0] == pytest.approx(wanted, rel=1e-6)
    # 60 bytes were kept for it: 75 and 60 of 135 are free there
    assert made.nodes.reserved is not None
    assert made.nodes.reserved.tolist() == [[0, 25 + 33], [0, 40 + 26]]


@given(some.integers(0, 2**32 - 1))
def test_no_load_is_lost_with_a_node(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(1, 6))
    background = rng.uniform(0, 120, (2, 3, nodes)).astype(np.float32)
    load = workload([(100, 100)] * nodes, [(0, 9000, 10, 10)], background=background, steps=3)
    kept = rng.permutation(nodes)[: int(rng.integers(1, nodes + 1))]
    made = on_nodes(load, kept)
    before, after = (one.use.background.sum(axis=2, dtype=np.float64) for one in (load, made))
    assert after == pytest.approx(before, rel=1e-5)
    if len(kept) == nodes:
        assert made.use.background.tolist() == load.use.background[:, :, kept].tolist()


def test_daemons_leave_the_rest_of_their_nodes() -> None:
    load = pinned_load()
    found = beside_daemons(load)
    assert found.containers.ids == ("c2", "c3")
    assert found.nodes.ids == load.nodes.ids
    assert found.nodes.allocatable.tolist() == [[90, 99], [200, 100], [289, 99]]
    used = [[5.0, 0.0, 5.5], [0.5, 0.0, 0.5]]
    wanted = load.use.background + np.array(used, dtype=np.float32)[:, None]
    assert found.use.background.tolist() == wanted.tolist()


def test_a_daemon_that_comes_later_keeps_no_room() -> None:
    load = pinned_load()
    late = changed(load, containers={"arrival_ms": np.array([5, 9, 9, 9])})
    assert beside_daemons(late).nodes.allocatable.tolist() == [[90, 99], [200, 100], [300, 100]]


@given(some.integers(0, 2**32 - 1))
def test_constraints_say_the_same_of_the_nodes_that_stay(seed: int) -> None:
    rng = np.random.default_rng(seed)
    load = constrained(workload([(100, 100)] * 5, [(0, 9000, 10, 10)] * 8), rng)
    kept = np.flatnonzero(rng.random(5) < 0.6)
    if load.rules.constraints is None or not len(kept):
        reject()
    # a spread is over the domains there are: with fewer nodes it asks for something else
    parts = tuple(one for one in load.rules.constraints.parts if one.label != "spread")
    load = changed(load, rules={"daemon": None, "constraints": Constraints(parts=parts)})
    if not parts:
        reject()
    whole = Constraints(parts=parts).keeper(5)
    few = on_nodes(load, kept).rules.constraints
    assert few is not None
    part = few.keeper(len(kept))
    for index in range(8):
        open_whole, open_part = whole.open(index), part.open(index)
        assert open_whole is not None
        assert open_part is not None
        assert open_part.tolist() == open_whole[kept].tolist()
        place = int(rng.integers(len(kept)))
        whole.add(index, int(kept[place]))
        part.add(index, place)


@given(some.integers(100, 400), some.integers(1, 60))
def test_the_number_of_containers_is_exact(hundredths: int, containers: int) -> None:
    load = workload([(100, 100)], [(at * 10, 9000, 10, 10) for at in range(containers)])
    scale = scale_of(hundredths / 100)
    made = multiplied(load, scale, stream(1, "replicas"))
    assert scale == Fraction(hundredths, 100)
    assert made.containers.count == containers * hundredths // 100
    assert (np.diff(made.containers.arrival_ms) >= 0).all()


@given(some.lists(some.integers(1, 90), min_size=20, max_size=60), some.integers(0, 9))
def test_what_is_requested_grows_by_the_scale_however_it_is_listed(
    sizes: list[int], seed: int
) -> None:
    load = workload([(100, 100)], [(at, 9000, size, 1) for at, size in enumerate(sizes)])
    made = multiplied(load, Fraction(13, 10), stream(seed, "replicas"))
    grown = made.containers.request[:, 0].sum() - load.containers.request[:, 0].sum()
    # of sizes in order one in so many is copied: the sum is off by the range of sizes at most
    assert abs(grown - 0.3 * sum(sizes)) <= 2 * (max(sizes) - min(sizes)) + max(sizes)


@pytest.mark.parametrize("large", [0, 9])
def test_a_large_container_among_ten_is_copied_as_often_wherever_it_stands(large: int) -> None:
    """Of every ten one is 16 times as large; the load of 250 becomes 325."""
    rows = [(at, 9000, 16 if at % 10 == large else 1, 1) for at in range(100)]
    made = multiplied(workload([(100, 100)], rows), Fraction(13, 10), stream(0, "replicas"))
    assert made.containers.count == 130
    assert made.containers.request[:, 0].sum() == pytest.approx(325, abs=16)
    grown = the(made.provenance.remarks, "multiplied")
    assert (grown.value, grown.about["before"]) == (130, 100)


def test_replicas_are_their_originals_and_daemons_stay_alone() -> None:
    made = multiplied(pinned_load(), Fraction(2), stream(1, "replicas"))
    assert made.containers.ids == ("c0", "c1", "c2", "c3", "c2+1", "c3+1")
    assert made.containers.request[:, 0].tolist() == [10, 11, 12, 13, 12, 13]
    assert made.use.at(1)[0].tolist() == [5, 5.5, 6, 6.5, 6, 6.5]
    assert made.rules.pinned is not None
    assert made.rules.pinned.tolist() == [0, 2, 2, -1, -1, -1]


def test_use_grows_as_requests_do_where_these_are_equal() -> None:
    """24 alike by request, of which two are busy: whoever is drawn, 1.25 times is used."""
    rows = [(0, 9000, 10, 10)] * 24
    load = workload([(1000, 1000)] * 4, rows)
    busy = np.where(np.arange(24) % 12 == 5, 12, 1)
    load = changed(load, use={"values": load.use.values * busy.astype(np.float32)})
    whole = load.use.values[0].sum()
    for seed in range(12):
        made = multiplied(load, scale_of(1.25), stream(seed, "replicas"))
        used = sum(float(made.use.at(step)[0].sum()) for step in range(len(made.use.times_ms)))
        assert used / whole == pytest.approx(1.25, abs=0.26)
        cpu = next(one for one in made.provenance.remarks if one.about.get("resource") == "CPU")
        assert cpu.about["use_times"] == pytest.approx(used / whole, rel=1e-5)
