"""Placement with rebalancing behind it: how it is spelled, and what comes of it."""

from __future__ import annotations

import numpy as np
import pytest
from replay_support import workload

from tracekit.base.errors import TracekitError
from tracekit.policy.entrant import (
    Accompanied,
    Entrants,
    parse_entrant,
    parse_rebalancer,
)
from tracekit.policy.rebalance import all_rebalancers
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import PlainPlacer
from tracekit.replay.fast.choose import fast_placer, rows_placer
from tracekit.replay.runs.run import choose_policies, replay

#: Six containers arrive on the first of three nodes, which fill up; a fourth of the load leaves.
LOAD = workload(
    [(1000, 1000)] * 3,
    [(0, 90_000, 150, 150, 0) for _ in range(6)] + [(1000, 3000, 300, 100, 1)],
    steps=9,
    used_share=0.9,
)
EAGER = "low_node_utilization[interval_ms=2000]"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("first_fit+load_spred", "'load_spred'"),
        ("first_fitt+load_spread", "'first_fitt'"),
        ("observed+load_spread", "'observed'"),
        ("first_fit+load_spread[x=1]", "'x'"),
    ],
)
def test_what_cannot_be_is_refused(text: str, named: str) -> None:
    with pytest.raises(TracekitError, match=named):
        parse_entrant(text)


def test_each_policy_is_there_alone_and_with_each_rebalancer() -> None:
    chosen = choose_policies(Entrants.of(["first_fit"]), LOAD, [parse_rebalancer("load_spread")])
    assert [str(one) for one in chosen] == ["observed", "first_fit", "first_fit+load_spread"]


@pytest.mark.parametrize("name", all_rebalancers())
def test_a_run_has_a_row_with_moves_and_what_they_cost(name: str) -> None:
    entrant = parse_entrant(f"first_fit+{name}[interval_ms=1000]")
    assert isinstance(entrant, Accompanied)
    assert entrant.rebalance is not None
    run = replay(LOAD, [entrant], seed=0)
    row = run.summary.row(0, named=True)
    assert row["policy"] == f"first_fit+{name}[interval_ms=1000]"
    assert row["move_downtime_ms"] == row["moves"] * entrant.rebalance.move_downtime_ms
    assert row["placed"] + row["pending"] == LOAD.containers.count
    assert (run.steps["placed"] + run.steps["pending"]).drop_nulls().max() <= LOAD.containers.count  # type: ignore[operator]


def test_rebalancing_moves_containers_of_a_full_node() -> None:
    alone, behind = (
        replay(LOAD, [parse_entrant(text)], seed=0).summary.row(0, named=True)
        for text in ("first_fit", f"first_fit+{EAGER}")
    )
    assert alone["moves"] == 0
    assert behind["moves"] > 0


@pytest.mark.parametrize("placement", ["first_fit", "least_allocated", "target_load_packing"])
@pytest.mark.parametrize("name", all_rebalancers())
def test_fast_and_plain_engines_move_the_same(placement: str, name: str) -> None:
    results = []
    for placer in (PlainPlacer, rows_placer, fast_placer):
        entrant = parse_entrant(f"{placement}+{name}[interval_ms=1000]")
        policy, rebalance = entrant.placement, entrant.rebalance
        rng = np.random.default_rng(0)
        outcome = Engine(LOAD, policy, rng, rebalance=rebalance, placer=placer).run()
        results.append((outcome.node.tolist(), outcome.time_ms.tolist(), outcome.steps.to_dicts()))
    assert results[0] == results[1] == results[2]


# Two spellings of one policy are two rows, each with a random stream of its own.

FEW = workload([(100, 100)] * 4, [(at * 10, 9000, 3, 3, at % 4) for at in range(30)])


@pytest.mark.parametrize(
    "text", ["random", "random[tie=reservoir]", "first_fit[tie=first]", "random+load_spread"]
)
def test_a_spelling_is_kept(text: str) -> None:
    one = parse_entrant(text)
    assert str(one) == text
    assert str(parse_entrant(one.address())) == text
    assert one == parse_entrant(text)


def test_spellings_draw_apart() -> None:
    policies = choose_policies(Entrants.of(["random", "random[tie=reservoir]"]), FEW)
    run = replay(FEW, policies, seed=0)
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
        FEW, choose_policies(Entrants.of(["first_fit", "first_fit[tie=first]"]), FEW), seed=0
    )
    assert run.digests["first_fit"] == run.digests["first_fit[tie=first]"]
    assert np.unique(list(run.digests.values())).size == 2
