"""Which nodes are lost, told by name: an answer holds for the loss of these."""

from __future__ import annotations

import numpy as np
from replay_support import workload

from tracekit.cluster.circumstances import under
from tracekit.cluster.workload import Workload


def losing(text: str) -> Workload:
    load = workload([(20, 20)] * 9, [(0, 9000, 10, 10)] * 4, steps=6)
    return under(load, {"lost": text}, np.random.default_rng(0))


LOSSES = [
    ((0, 0), "no container lost its node"),
    ((1, 0), "1 container lost its node and found another"),
    ((4, 4), "4 containers lost their node and found no other"),
    ((4, 1), "4 containers lost their node: 1 found no other, 3 did"),
]


ROOM = "made room for containers of higher priority"
EVICTIONS = [
    ((0, 0), "no container was evicted for one of higher priority"),
    ((1, 0), f"1 eviction {ROOM}; all that were evicted ran again"),
    ((3, 1), f"3 evictions {ROOM}; 1 evicted container found no other node"),
]
