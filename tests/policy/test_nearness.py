"""Nearness: who calls whom, how much of it stays on a node, and what any policy makes of it."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import changed, workload

from tracekit.base.errors import TracekitError
from tracekit.cluster.calls import call_weights
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import get_policy, parse_policy
from tracekit.policy.placement import all_policies
from tracekit.policy.profile import near_kind, to_hundred
from tracekit.replay.engine.engine import Engine
from tracekit.replay.runs.one import replay_one

EDGES = pl.DataFrame(
    {
        "upstream": ["a", "b", "a", None, "c", "a"],
        "downstream": ["b", "a", "c", "a", "c", "zz"],
        "calls": [30, 10, 10, 99, 5, 7],
    }
)


def test_weights_count_both_directions_and_only_what_is_known() -> None:
    weights = call_weights(("c", "a", "b", "a"), EDGES)
    assert weights.kind.tolist() == [2, 0, 1, 0]
    assert weights.shares(0).tolist() == [0.0, 0.8, 0.2]
    assert weights.shares(1).tolist() == [1.0, 0.0, 0.0]
    assert call_weights(("x",), EDGES).shares(0).tolist() == [0.0]


def test_a_call_may_meet_any_container_of_a_service() -> None:
    weights = call_weights(("a", "b", "b", "c"), EDGES)
    near = weights.stay_share(0, np.array([1, 1, 2]), np.array([0, 1, 1]), 3)
    assert near == pytest.approx([0.4, 0.4 + 0.2, 0.0])


@given(some.integers(0, 2**32))
def test_the_kept_share_by_plain_counting(seed: int) -> None:
    rng = np.random.default_rng(seed)
    services = tuple(rng.choice(list("abcd"), size=9).tolist())
    pairs = [pair for pair in itertools.combinations("abcd", 2) if rng.random() < 0.7]
    edges = pl.DataFrame(
        {"upstream": [p[0] for p in pairs], "downstream": [p[1] for p in pairs],
         "calls": rng.integers(1, 9, len(pairs))},
        schema={"upstream": pl.String, "downstream": pl.String, "calls": pl.Int64},
    )  # fmt: skip
    node = rng.integers(-1, 3, 9)
    kept = total = 0.0
    for one, other, calls in edges.iter_rows():
        mine = [int(node[at]) for at in range(9) if services[at] == one and node[at] >= 0]
        theirs = [int(node[at]) for at in range(9) if services[at] == other and node[at] >= 0]
        if mine and theirs:
            total += calls
            same = sum(x == y for x in mine for y in theirs)
            kept += calls * same / (len(mine) * len(theirs))
    found = call_weights(services, edges).kept_share(node)
    assert found == (pytest.approx(kept / total) if total else None)


def chatty() -> Workload:
    """Two nodes and pairs of services that call each other alone; sizes alike."""
    rows = [(at * 10, 10_000, 10, 10) for at in range(8)]
    load = workload([(100, 100), (100, 100)], rows, steps=3)
    services = tuple("abcdabcd")
    edges = pl.DataFrame({"upstream": ["a", "c"], "downstream": ["b", "d"], "calls": [1, 1]})
    return changed(
        load, containers={"services": services}, rules={"calls": call_weights(services, edges)}
    )


@pytest.mark.parametrize("name", ["least_allocated", "worst_fit"])
def test_chatty_services_come_together(name: str) -> None:
    load = chatty()
    shares = [
        replay_one(load, parse_policy(text), 3).row["kept_calls_share"]
        for text in (name, f"{name}[near_weight=10]")
    ]
    assert shares[1] == 1.0 > shares[0]


@pytest.mark.parametrize("name", sorted(all_policies()))
def test_any_policy_that_decides_one_by_one_takes_it(name: str) -> None:
    kind = get_policy(name)
    if kind.batched or "recorded" in kind.reads:
        with pytest.raises(TracekitError, match="near_weight"):
            near_kind(kind)
        return
    text = f"{name}[near_weight=2.5]"
    policy = parse_policy(text)
    assert str(policy) == text
    assert (policy.name(), policy.joint) == (name, True)
    outcome = Engine(chatty(), policy, np.random.default_rng(0)).run()
    assert (outcome.node >= 0).all()


def test_without_weight_the_choice_is_the_policys_own() -> None:
    load = chatty()
    plain, zero = (
        Engine(load, policy, np.random.default_rng(0)).run().node.tolist()
        for policy in (parse_policy("least_allocated"), near_kind(get_policy("least_allocated"))())
    )
    assert plain == zero


def test_equal_scores_are_all_full() -> None:
    assert to_hundred(np.array([3, 3])).tolist() == [100.0, 100.0]
    assert to_hundred(np.array([1, 3, 2])).tolist() == [0.0, 100.0, 50.0]
