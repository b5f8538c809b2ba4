"""Where each policy puts the same containers, on a cluster chosen to tell the policies apart."""

from __future__ import annotations

import pytest
from replay_support import workload

from tracekit.base.arrays import stream
from tracekit.policy.parse import parse_policy
from tracekit.replay.engine.engine import Engine

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
#   requested_to_capacity_ratio, memory of n1 scores 0 for c4 and drops out of the mean
#                        75 70 90 | 74 83 83 | 45 20 69 | 80 -- 53 | 59 65 56
#   least_requested      7 7 9 | 7 8 7 | 4 2 6 | 8 -- 5 | 5 3 5
#   most_requested       2 3 1 | 2 4 0 | 5 -- 2 | 7 -- 1 | -- -- only one
#   lra                  7.5 7 9 | 7.375 8.25 8.25 | 4.5 2 6.875 | 8 -- 5.25 | 5.875 3.25 5.5
#   bra                  7 8 10 | 5.25 8.5 9 | 3 6.5 8.75 | 8 -- 8.5 | 9.75 2 6.75
#   default_scheduler    160 160 190 | 149 174 177 | 110 119 154 | 170 -- 136 | 146 110 144
# Policies that read load have no metrics within these four seconds: every node scores 0.
EXPECTED = {
    "observed": [1, 0, 1, 0, 2],  # as recorded: c2 does not fit n1 and is put there all the same
    "first_fit": [0, 0, 1, 0, 2],  # n0 is out of cpu after c3, n1 of memory after c2
    "least_allocated": [2, 1, 2, 0, 0],
    "most_allocated": [1, 1, 0, 0, 2],
    "balanced_allocation": [2, 2, 2, 2, 0],
    "requested_to_capacity_ratio": [2, 1, 2, 0, 1],
    "requested_to_capacity_ratio[shape=0:0+100:10]": [1, 1, 0, 0, 2],
    "least_requested": [2, 1, 2, 0, 0],
    "most_requested": [1, 1, 0, 0, 2],
    "lra": [2, 1, 2, 0, 0],
    "bra": [2, 2, 2, 2, 0],
    "node_resources_allocatable": [0, 0, 1, 0, 2],  # the smallest with room
    "node_resources_allocatable[mode=Most]": [2, 2, 2, 2, 2],
    "default_scheduler": [2, 2, 2, 0, 0],
    "target_load_packing": [0, 0, 1, 0, 2],
    "load_variation_risk_balancing": [0, 0, 1, 0, 2],
    "low_risk_overcommitment": [0, 0, 1, 0, 2],
    "peaks": [0, 0, 1, 0, 2],
    "best_fit": [0, 0, 1, 0, 2],  # bytes beside millicores: the least cpu left decides
    "best_fit[leftover=fraction]": [1, 1, 0, 0, 2],
    "worst_fit": [2, 2, 2, 2, 2],
    "lowest_debris": [1, 1, 0, 0, 2],  # mean allocation after: 25 30 10 | 26 48 .. | 55 -- 21 | 75
    "random[tie=first]": [0, 0, 1, 0, 2],
    "bnp": [2, 2, 2, 0, 0],  # no network: the built-in scores decide, as default_scheduler's
    "bdi": [2, 2, 2, 0, 0],
    "bcdi": [0, 0, 1, 0, 2],  # no disk: every node scores 0
    "cmdn": [2, 2, 2, 0, 0],  # nothing measured: every node scores the same
    "cwt": [2, 2, 2, 0, 0],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_choices(name: str) -> None:
    outcome = Engine(workload(NODES, CONTAINERS), parse_policy(name), stream(0, name)).run()
    assert outcome.node.tolist() == EXPECTED[name]
