"""The key under which finished replays are kept: all that a replay can depend on."""

from __future__ import annotations

import dataclasses

import numpy as np
from replay_support import workload

from tracekit.base.facts import remark
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.workload import Workload
from tracekit.replay.runs.kept import fingerprint, replays_alike

NODES = 3_000


def _closed(node: int) -> Workload:
    """One container that may run on every node but one."""
    mask = np.ones((1, NODES), dtype=np.bool_)
    mask[0, node] = False
    part = Allowed(label="selector", of=np.zeros(1, dtype=np.int64), mask=mask)
    load = workload([(100, 100)] * NODES, [(0, 9000, 1, 1)], steps=1)
    return dataclasses.replace(load, constraints=Constraints(parts=(part,)))


def test_a_node_in_the_middle_of_many_counts() -> None:
    assert fingerprint(_closed(1_500)) != fingerprint(_closed(1_501))
    assert fingerprint(_closed(1_500)) == fingerprint(_closed(1_500))


def test_what_a_workload_says_of_itself_makes_no_other_replay() -> None:
    load = _closed(7)
    other = dataclasses.replace(load, assumptions={"cells": "none"}, remarks=(remark("fit_proxy"),))
    assert fingerprint(other) != fingerprint(load)
    assert replays_alike(other) == replays_alike(load)
    assert replays_alike(other) != replays_alike(_closed(8))
