"""A workload on its nodes and further ones like them."""

from __future__ import annotations

import numpy as np
import pytest
from replay_support import changed, workload

from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.constraint import domains_on
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.rules import CountRules, apart
from tracekit.cluster.enlarged import like_nodes, open_to_some, with_more
from tracekit.cluster.on_nodes import requests_respected
from tracekit.cluster.parts import Losses
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.runs.one import replay_one


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
            "losses": Losses(node=np.array([2]), time_ms=np.array([1000])),
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
