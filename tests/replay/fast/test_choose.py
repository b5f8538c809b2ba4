"""Which replays are compiled: those where compiling takes less time than it saves."""

from unittest import mock

import pytest

from tracekit.replay.engine.placer import MakePlacer
from tracekit.replay.fast.choose import (
    fast_placer,
    rows_placer,
    scanning_placer,
    suited_placer,
)


@pytest.mark.parametrize(
    ("containers", "nodes", "replays", "placer"),
    [
        pytest.param(964, 130, 6, rows_placer, id="the demo"),
        pytest.param(5_000, 500, 1, rows_placer, id="a cluster of one's own, once"),
        pytest.param(5_000, 500, 6, scanning_placer, id="a cluster of one's own"),
        pytest.param(8_152, 1_213, 6, scanning_placer, id="openb"),
        # compiling took 45 s where the replay takes 5
        pytest.param(18_239, 1, 1, rows_placer, id="a machine of batch jobs"),
        pytest.param(40_000, 2_000, 1, scanning_placer, id="what the documents name"),
        pytest.param(96_400, 13_000, 1, fast_placer, id="ctm21"),
    ],
)
def test_replays_are_compiled_where_that_pays(
    containers: int, nodes: int, replays: int, placer: MakePlacer
) -> None:
    load = mock.Mock(containers=mock.Mock(count=containers), nodes=mock.Mock(count=nodes))
    assert suited_placer(load, replays) is placer
