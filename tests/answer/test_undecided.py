"""Orders that are added where it stays open which policy is best."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from replay_support import changed, workload

from tracekit.answer.repeat import repeat_replay, undecided
from tracekit.base.errors import TracekitError
from tracekit.cluster.workload import Workload
from tracekit.commands._replaying import replay_by
from tracekit.policy.entrant import Entrants
from tracekit.replay.chance import compare
from tracekit.replay.runs.results import results
from tracekit.replay.runs.run import Run, choose_policies

ROWS = [(at * 100, 9000, 5 + at % 7, 3 + at % 5, at % 3) for at in range(20)]
FREE = changed(
    workload([(90, 90)] * 6, ROWS),
    use={
        "values": np.repeat(np.array([r[2:4] for r in ROWS]).T[:, None], 4, axis=1).astype(
            np.float32
        )
    },
    containers={"exchangeable": np.ones(20, np.bool_), "recorded_node": np.full(20, -1)},
)
SAME = changed(FREE, containers={"exchangeable": np.zeros(20, np.bool_)})


def met(load: Workload, *names: str, up_to: int | None = 12) -> Run:
    return repeat_replay(
        load, choose_policies(Entrants.of(names), load), seed=0, repeats=6, up_to=up_to
    )


def orders(run: Run) -> set[int]:
    assert run.repeats is not None
    return set(run.repeats.group_by("policy").len()["len"])


def test_orders_are_added_where_it_is_open_which_is_best() -> None:
    names = ("worst_fit", "worst_fit[tie=reservoir]")
    once, twice = met(FREE, *names, up_to=None), met(FREE, *names)
    assert undecided(once)
    assert (orders(once), orders(twice)) == ({6}, {12})
    assert twice.looks == (6, 12)
    assert once.repeats is not None
    assert twice.repeats is not None
    assert twice.repeats.filter(pl.col("repeat") < 6).equals(once.repeats)
    assert twice.repeats["seed"].unique().sort().to_list() == list(range(12))


def test_none_are_added_where_one_is_told_from_the_others() -> None:
    run = met(FREE, "first_fit", "worst_fit")
    assert not undecided(run)
    assert orders(run) == {6}
    assert results(run).looks == 2  # it would have been looked twice


def test_where_every_order_is_the_same_none_are_added() -> None:
    run = met(SAME, "first_fit", "worst_fit")
    assert run.looks == ()


def test_each_of_two_looks_has_half_of_what_may_go_wrong() -> None:
    rng = np.random.Generator(np.random.PCG64(3))
    apart = rng.normal(size=(6, 40)) + np.linspace(0, 6, 40)
    one, two = compare(apart), compare(apart, looks=2)
    assert two.p.tolist() == one.p.tolist()
    assert np.allclose(two.p_corrected, np.minimum(2 * one.p_corrected, 1))
    assert 0 < two.separated.sum() < one.separated.sum()
    assert ((two.low > 0) | (two.high < 0))[two.separated].all()
    assert ((two.low <= one.low) & (two.high >= one.high)).all()


def test_equal_policies_looked_at_twice_are_seldom_told_apart() -> None:
    """As many as a rate of 5 % gives in 999 of 1,000 tests."""
    rng, runs, result = np.random.Generator(np.random.PCG64(8)), 400, 0
    for _ in range(runs):
        values = rng.normal(size=(12, 8, 6))
        pairs = [values[:, a] - values[:, b] for a in range(8) for b in range(a)]
        apart = np.concatenate(pairs, axis=1)
        result += any(compare(apart[:many], looks=2).separated.any() for many in (6, 12))
    assert result <= 35


@pytest.mark.parametrize(
    ("repeats", "up_to", "what"),
    [
        (6, 6, "--repeat-up-to"),
        (2, 12, "--repeat-up-to"),
    ],
)
def test_nothing_to_add_to_is_told(tmp_path: Path, repeats: int, up_to: int, what: str) -> None:
    with pytest.raises(TracekitError, match=what):
        replay_by(
            *(None, None, Entrants.of(["random"])),
            out=tmp_path / "run",
            workload="paper000",
            repeats=repeats,
            repeats_up_to=up_to,
        )
