"""A policy whose parameter leaves it no resource is an error; one that counts none is not."""

import numpy as np
import pytest
from replay_support import workload

from tracekit.policy.placement import ScoreError
from tracekit.policy.placement.least_allocated import LeastAllocated
from tracekit.policy.placement.random import Random
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import MakePlacer, PlainPlacer
from tracekit.replay.fast.choose import fast_placer, rows_placer

LOAD = workload([(100, 100)] * 3, [(0, 9000, 10, 10)] * 6)
PLACERS = pytest.mark.parametrize("placer", [PlainPlacer, rows_placer, fast_placer])


@PLACERS
def test_a_policy_without_a_resource_of_its_own_says_so(placer: MakePlacer) -> None:
    engine = Engine(LOAD, LeastAllocated(resources=()), np.random.default_rng(1), placer=placer)
    with pytest.raises(ScoreError, match="resources"):
        engine.run()


@PLACERS
def test_a_formula_over_no_resource_scores_every_node_alike(placer: MakePlacer) -> None:
    engine = Engine(LOAD, Random(tie="first"), np.random.default_rng(1), placer=placer)
    assert engine.run().node.tolist() == [0] * 6
