"""The 99th percentile of fewer than 100 nodes is said to be the fullest node, once."""

from __future__ import annotations

import numpy as np
import pytest

from tracekit.cli import run
from tracekit.replay.measures.p99_fraction import is_the_fullest, rank_of


@pytest.mark.parametrize("nodes", [1, 2, 50, 99, 100, 101, 250])
def test_it_is_the_fullest_where_99_of_100_are_all(nodes: int) -> None:
    use = np.random.default_rng(nodes).random(nodes)
    percentile = np.sort(use)[rank_of(nodes)]
    said = is_the_fullest(nodes, ["CPU use, 99th percentile"])
    assert bool(said) == (percentile == use.max())
    assert is_the_fullest(nodes, ["Highest CPU use"]) == ""


def test_shrink_says_it_where_a_limit_names_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    load = ["nodes", "--workload", "paper000[containers=30,nodes=3]", "--policy", "first_fit"]
    for limit, times in (("cpu_p99_fraction <= 1.5", 1), ("cpu_max_fraction <= 1.5", 0)):
        limits = ["--limit", limit, "--limit", "memory_max_fraction <= 1.5"]
        assert run([*load, "--repeat", "1", *limits]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert said.count("99th percentile is the fullest node.") == times
