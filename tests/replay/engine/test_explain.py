"""A decision of a replay, taken apart: the same node as the replay chose, and why."""

from __future__ import annotations

import re

import numpy as np
import pytest
from replay_support import changed, workload

from tracekit.base.errors import TracekitError
from tracekit.policy.entrant import parse_entrant
from tracekit.replay.engine.explain import explain
from tracekit.replay.runs.run import replay

#: n1 is too small for c2, and full once c1 is there.
LOAD = workload(
    [(1000, 1000), (200, 200), (1000, 500)],
    [(0, 9000, 300, 300), (10, 9000, 150, 150), (20, 9000, 250, 250)],
)


@pytest.mark.parametrize("policy", ["least_allocated", "best_fit", "cwt", "target_load_packing"])
@pytest.mark.parametrize("container", ["c0", "c1", "c2"])
def test_it_explains_what_the_replay_does(policy: str, container: str) -> None:
    found = explain(LOAD, parse_entrant(policy), container)
    placed = replay(LOAD, [parse_entrant(policy)], seed=0).placements
    (node,) = placed.filter(placed["container"] == container)["node"].to_list()
    assert found.chosen == found.nodes[0].node == node
    assert len(found.nodes) == LOAD.nodes.count
    scored = [one.score for one in found.nodes if one.score is not None]
    assert scored == sorted(scored, reverse=True)


def test_the_filter_that_removed_a_node_is_named() -> None:
    found = explain(LOAD, parse_entrant("least_allocated"), "c2")
    removed = {one.node: one.removed for one in found.nodes if one.removed}
    assert [re.findall(r"\w+_\w+", text) for text in removed.values()] == [
        ["cpu_milli", "memory_bytes"]
    ]
    assert {name for one in found.nodes for name in one.parts} == {"cpu", "memory"}


def test_who_fits_nowhere_waits() -> None:
    load = workload([(10, 10)] * 2, [(0, 9000, 5, 5), (1, 9000, 50, 5)])
    found = explain(load, parse_entrant("first_fit"), "c1")
    assert found.chosen is None
    assert [one.removed for one in found.nodes] == ["too little cpu_milli"] * 2


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
