"""Where each policy puts the same containers, on a cluster chosen to tell the policies apart."""

from __future__ import annotations

import pytest
from replay_support import workload

from tracekit.replay.engine import Engine
from tracekit.replay.placement import all_policies, parse_policy
from tracekit.replay.seeds import stream

#          cpu   memory
NODES = [(1000, 4000), (2000, 1000), (4000, 4000)]

# arrival, departure, cpu, memory, recorded node
CONTAINERS = [
    (0, 9000, 400, 400, 1),
    (1, 9000, 500, 100, 0),
    (2, 9000, 900, 800, 1),
    (3, 9000, 100, 1200, 0),
    (4, 9000, 200, 900, 2),
]

# The node of each container, worked out by hand. Scores of the nodes with room, n0 to n2:
#   least_allocated      75 70 90 | 73 82 82 | 45 20 68 | 80 -- 52 | 58 32 54
#   most_allocated       25 30 10 | 26 47 7 | 55 -- 21 | 75 -- 16 | -- -- only one
#   balanced_allocation  85 90 100 | 76 92 95 | 65 82 93 | 90 -- 92 | 98 60 83
EXPECTED = {
    "observed": [1, 0, 1, 0, 2],  # as recorded: c2 does not fit n1 and is put there all the same
    "first_fit": [0, 0, 1, 0, 2],  # n0 is out of cpu after c3, n1 of memory after c2
    "least_allocated": [2, 1, 2, 0, 0],
    "most_allocated": [1, 1, 0, 0, 2],
    "balanced_allocation": [2, 2, 2, 2, 0],
}


def test_every_policy_has_a_row() -> None:
    assert EXPECTED.keys() == all_policies().keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_choices(name: str) -> None:
    outcome = Engine(workload(NODES, CONTAINERS), parse_policy(name), stream(0, name)).run()
    assert outcome.node.tolist() == EXPECTED[name]
