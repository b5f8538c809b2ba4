"""A workload on some of its nodes, and on more nodes."""

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
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.constraint import domains_on
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.rules import CountRules, apart
from tracekit.cluster.enlarged import like_nodes, multiplied, open_to_some, scale_of, with_more
from tracekit.cluster.on_nodes import beside_daemons, on_nodes, requests_respected
from tracekit.cluster.parts import NodeEvents
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.runs.one import replay_one


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
    staying = rng.permutation(nodes)[: int(rng.integers(1, nodes + 1))]
    made = on_nodes(load, staying)
    before, after = (one.use.background.sum(axis=2, dtype=np.float64) for one in (load, made))
    assert after == pytest.approx(before, rel=1e-5)
    if len(staying) == nodes:
        assert made.use.background.tolist() == load.use.background[:, :, staying].tolist()


def test_daemons_leave_the_rest_of_their_nodes() -> None:
    load = pinned_load()
    result = beside_daemons(load)
    assert result.containers.ids == ("c2", "c3")
    assert result.nodes.ids == load.nodes.ids
    assert result.nodes.allocatable.tolist() == [[90, 99], [200, 100], [289, 99]]
    used = [[5.0, 0.0, 5.5], [0.5, 0.0, 0.5]]
    wanted = load.use.background + np.array(used, dtype=np.float32)[:, None]
    assert result.use.background.tolist() == wanted.tolist()


def test_a_daemon_that_comes_later_keeps_no_room() -> None:
    load = pinned_load()
    late = changed(load, containers={"arrival_ms": np.array([5, 9, 9, 9])})
    assert beside_daemons(late).nodes.allocatable.tolist() == [[90, 99], [200, 100], [300, 100]]


@given(some.integers(0, 2**32 - 1))
def test_constraints_say_the_same_of_the_nodes_that_stay(seed: int) -> None:
    rng = np.random.default_rng(seed)
    load = constrained(workload([(100, 100)] * 5, [(0, 9000, 10, 10)] * 8), rng)
    staying = np.flatnonzero(rng.random(5) < 0.6)
    if load.rules.constraints is None or not len(staying):
        reject()
    # a spread is over the domains there are: with fewer nodes it asks for something else
    parts = tuple(one for one in load.rules.constraints.parts if one.label != "spread")
    load = changed(load, rules={"daemon": None, "constraints": Constraints(parts=parts)})
    if not parts:
        reject()
    whole = Constraints(parts=parts).keeper(5)
    few = on_nodes(load, staying).rules.constraints
    assert few is not None
    part = few.keeper(len(staying))
    for index in range(8):
        open_whole, open_part = whole.open(index), part.open(index)
        assert open_whole is not None
        assert open_part is not None
        assert open_part.tolist() == open_whole[staying].tolist()
        place = int(rng.integers(len(staying)))
        whole.add(index, int(staying[place]))
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


def three() -> Workload:
    """n0 small with a daemon, n1 middling, n2 large; c1 stays on n2, c2 goes anywhere."""
    background = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    rows = [(0, 9000, 10 + at, 1, at % 3) for at in range(3)]
    load = workload([(100, 100), (200, 100), (300, 100)], rows, background=background)
    return changed(
        load,
        rules={"pinned": np.array([0, 2, -1]), "daemon": np.array([True, False, False])},
        nodes={"price_per_hour": np.array([1.0, 2.0, 3.0])},
    )


def test_a_further_node_has_what_its_original_has_and_its_daemons() -> None:
    made = with_more(three(), np.array([0, 2, 0]))
    assert made.nodes.ids == ("n0", "n1", "n2", "n0+1", "n2+1", "n0+2")
    assert made.nodes.capacity[:, 0].tolist() == [100, 200, 300, 100, 300, 100]
    assert made.nodes.price_per_hour is not None
    assert made.nodes.price_per_hour.tolist() == [1, 2, 3, 1, 3, 1]
    assert made.use.background[:, :, :3].tolist() == three().use.background.tolist()
    assert not made.use.background[:, :, 3:].any()
    assert made.rules.pinned is not None
    assert made.rules.daemon is not None
    where = dict(zip(made.containers.ids, made.rules.pinned.tolist(), strict=True))
    assert where == {"c0": 0, "c1": 2, "c2": -1, "c0+1": 3, "c0+2": 5}
    daemons = {
        name for name, one in zip(made.containers.ids, made.rules.daemon, strict=True) if one
    }
    assert daemons == {"c0", "c0+1", "c0+2"}
    recorded = dict(zip(made.containers.ids, made.containers.recorded_node.tolist(), strict=True))
    assert recorded == {"c0": 0, "c1": 1, "c2": 2, "c0+1": -1, "c0+2": -1}
    use = dict(zip(made.containers.ids, made.use.at(1)[0].tolist(), strict=True))
    assert use["c0"] == use["c0+1"] == use["c0+2"] == 5.0


def test_daemons_of_further_nodes_come_when_those_of_their_originals_do() -> None:
    """Else who is placed takes their room, and no bound by requests holds."""
    rows = [(0, 9000, 60, 1)] * 2 + [(0, 9000, 50, 1)] * 4
    load = changed(
        workload([(100, 100)] * 2, rows),
        rules={
            "pinned": np.array([0, 1, -1, -1, -1, -1]),
            "daemon": np.array([True, True, *[False] * 4]),
        },
    )
    made = with_more(load, np.array([0, 1]))
    assert made.containers.ids == ("c0", "c0+1", "c1", "c1+1", "c2", "c3", "c4", "c5")
    assert requests_respected(load)
    assert requests_respected(made)
    # nobody fits beside a daemon
    row = replay_one(made, parse_policy("first_fit"), 0).row
    assert row["pending"] == 4


@pytest.mark.parametrize("count", [1, 7, 30])
def test_further_nodes_are_spread_evenly_over_sizes(count: int) -> None:
    """Of 20 small and 10 large ones, in any order, about two in three are small."""
    shapes = [(100, 100), (400, 400), (100, 100)] * 10
    load = workload(shapes, [(0, 9000, 1, 1)])
    small = int((load.nodes.capacity[like_nodes(load, count), 0] == 100).sum())
    assert abs(small - 2 * count / 3) <= 1
    # each is taken once before one is taken twice, or nearly so
    assert len(set(like_nodes(load, 30).tolist())) >= 20


def test_nobody_adds_nodes_of_the_control_plane_closed_or_gone_ones() -> None:
    load = workload([(100, 100)] * 4, [(0, 9000, 1, 1)] * 2)
    mask = np.array([[True, False, True, True]])
    closed = Allowed(label="taints", of=np.array([0, 0]), mask=mask)
    load = changed(
        load,
        nodes={
            "never_removed": np.array([True, False, False, False]),
            "losses": NodeEvents(node=np.array([2]), time_ms=np.array([1000])),
        },
        rules={"constraints": Constraints(parts=(closed,))},
    )
    assert open_to_some(load).tolist() == [True, False, True, True]
    assert like_nodes(load, 5).tolist() == [3] * 5
    every = changed(load, nodes={"never_removed": np.ones(4, dtype=np.bool_)})
    assert like_nodes(every, 5).tolist() == []


@pytest.mark.parametrize(
    ("domain", "made"),
    [
        ([0, 1, 2], [0, 1, 2, 3, 4]),  # by host name: further nodes are domains of their own
        ([0, 0, 1], [0, 0, 1, 0, 1]),  # by zone: they stand where their originals do
        ([0, -1, 1], [0, -1, 1, 2, 3]),
        ([-1, 0, 1], [-1, 0, 1, -1, 2]),
    ],
)
def test_a_further_node_is_a_domain_of_its_own_where_every_node_is(
    domain: list[int], made: list[int]
) -> None:
    assert domains_on(np.array(domain), np.array([0, 1, 2, 0, 2])).tolist() == made
    # some of them, each once, keep their domains
    assert domains_on(np.array(domain), np.array([2, 0])).tolist() == [domain[2], domain[0]]


def test_members_that_keep_apart_find_room_on_further_nodes() -> None:
    rule = apart(by="node", group=np.array([0, 0, 0]), domain=np.array([0, 1]), most=np.array([1]))
    load = workload([(100, 100)] * 2, [(0, 9000, 1, 1)] * 3)
    load = changed(load, rules={"constraints": Constraints(parts=(rule,))})
    made = with_more(load, np.array([0]))
    assert made.rules.constraints is not None
    part = made.rules.constraints.parts[0]
    assert isinstance(part, CountRules)
    assert part.domain.tolist() == [[0, 1, 2]]
