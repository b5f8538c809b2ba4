"""The 99th percentile of fewer than 100 nodes is the fullest node."""

from __future__ import annotations

import numpy as np
import pytest

from tracekit.replay.measures.use import rank_of


@pytest.mark.parametrize("nodes", [1, 2, 50, 99, 100, 101, 250])
def test_it_is_the_fullest_where_99_of_100_are_all(nodes: int) -> None:
    use = np.random.default_rng(nodes).random(nodes)
    percentile = np.sort(use)[rank_of(nodes)]
    assert (rank_of(nodes) == nodes - 1) == (percentile == use.max())
    assert (percentile == use.max()) == (nodes < 100)
