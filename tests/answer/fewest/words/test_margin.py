"""What keeps the next node: the reason for which containers would wait without it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from replay_support import workload
from shrink_support import EVEN, row, shrunk

from tracekit.answer.fewest.words.margin import margin
from tracekit.answer.fewest.words.told import bound, told
from tracekit.replay.workload.constraints.by_domain import Apart
from tracekit.replay.workload.constraints.constraint import Constraint
from tracekit.replay.workload.constraints.constraints import Constraints
from tracekit.replay.workload.constraints.sharing import AntiAffinity, Sharing
from tracekit.replay.workload.workload import Workload

#: Three of three services on five nodes with room for all of them on each.
SMALL = workload([(100, 100)] * 5, [(0, 9000, 5, 5)] * 3)
#: No two of the services share a node.
STRANGERS = Sharing(
    limits=AntiAffinity(
        services=("a", "b", "c"), rules=np.array([(0, 1, 0), (1, 2, 0), (0, 2, 0)])
    ),
    service=np.arange(3),
)
#: No two of the containers do, as they are of one group.
GROUP = Apart(by="node", group=np.zeros(3, np.int64), domain=np.arange(5), most=np.ones(1, int))


def ruled(part: Constraint) -> Workload:
    return dataclasses.replace(SMALL, constraints=Constraints(parts=(part,)))


@pytest.mark.parametrize(
    ("load", "nodes", "proven", "why"),
    [
        (EVEN, 4, 4, ""),
        (ruled(STRANGERS), 3, 1, "It is rules on other containers that stop the next node"),
        (ruled(GROUP), 3, 3, ""),
        # a node takes two of 40, so that three nodes carry six of the seven
        (workload([(100, 100)] * 5, [(0, 9000, 40, 1)] * 6 + [(0, 9000, 30, 1)]), 4, 3,
         "It is room for requests that stops the next node"),
    ],
)  # fmt: skip
def test_the_reason_is_told(load: Workload, nodes: int, proven: int, why: str) -> None:
    study = shrunk(load, "overloaded_node_steps <= 0", policies=["first_fit"])
    found = told(study)
    assert found is not None
    assert (row(study, "first_fit")["nodes"], row(study, "first_fit")["bound"]) == (nodes, proven)
    assert margin(found).startswith(why)
    if not why:
        assert "that stop" not in margin(found)


def test_a_bound_by_rules_is_called_one() -> None:
    by_rules, by_room = (
        told(shrunk(load, "overloaded_node_steps <= 0", policies=["first_fit"]))
        for load in (ruled(GROUP), EVEN)
    )
    assert by_rules is not None
    assert by_room is not None
    assert "(proven: rules on who may share a node need as many)" in bound(by_rules)
    assert "(proven)" in bound(by_room)
