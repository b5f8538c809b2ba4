"""Two spellings of one policy are two rows, each with a random stream of its own."""

from __future__ import annotations

import numpy as np
import pytest
from replay_support import workload

from tracekit.policy.entrant import Entrants, parse_entrant
from tracekit.replay.runs.run import choose_policies, replay

LOAD = workload([(100, 100)] * 4, [(at * 10, 9000, 3, 3, at % 4) for at in range(30)])


@pytest.mark.parametrize(
    "text", ["random", "random[tie=reservoir]", "first_fit[tie=first]", "random+load_spread"]
)
def test_a_spelling_is_kept(text: str) -> None:
    one = parse_entrant(text)
    assert str(one) == text
    assert str(parse_entrant(one.address())) == text
    assert one == parse_entrant(text)


def test_spellings_draw_apart() -> None:
    policies = choose_policies(Entrants.of(["random", "random[tie=reservoir]"]), LOAD)
    run = replay(LOAD, policies, seed=0)
    assert run.summary["policy"].to_list() == [
        "observed",
        "random",
        "random[tie=reservoir]",
        "bound",
    ]
    placed = [run.placements.filter(policy=str(one))["node"].to_list() for one in policies[1:]]
    assert placed[0] != placed[1]
    assert len(set(run.digests.values())) == 3


def test_placing_alike_is_one_digest() -> None:
    run = replay(
        LOAD, choose_policies(Entrants.of(["first_fit", "first_fit[tie=first]"]), LOAD), seed=0
    )
    assert run.digests["first_fit"] == run.digests["first_fit[tie=first]"]
    assert np.unique(list(run.digests.values())).size == 2
