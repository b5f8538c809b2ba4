"""Which replays are compiled: those where compiling takes less time than it saves."""

from unittest import mock

import pytest

from tracekit.replay.engine.placer import MakePlacer
from tracekit.replay.fast.choose import fast_placer, rows_placer, suited_placer
from tracekit.replay.workload.workload import Workload


@pytest.mark.parametrize(
    ("containers", "nodes", "placer"),
    [
        pytest.param(964, 130, rows_placer, id="the demo"),
        pytest.param(8_152, 1_213, rows_placer, id="openb"),
        # compiling took 45 s where the replay takes 5
        pytest.param(18_239, 1, rows_placer, id="a machine of batch jobs"),
        pytest.param(40_000, 2_000, fast_placer, id="what the documents name"),
        pytest.param(96_400, 13_000, fast_placer, id="ctm21"),
    ],
)
def test_large_replays_are_compiled_and_small_ones_are_not(
    containers: int, nodes: int, placer: MakePlacer
) -> None:
    load = mock.create_autospec(Workload, instance=True, containers=containers, nodes=nodes)
    assert suited_placer(load) is placer
