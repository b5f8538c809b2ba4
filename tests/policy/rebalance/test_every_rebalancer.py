"""Promises that every rebalance policy keeps, on clusters drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from rebalance_support import running

from tracekit.base import parameters
from tracekit.base.errors import TracekitError
from tracekit.policy.entrant import parse_rebalancer
from tracekit.policy.rebalance import all_rebalancers, get_rebalancer
from tracekit.policy.view.snapshot import Snapshot

POLICIES = all_rebalancers()
every_policy = pytest.mark.parametrize("name", POLICIES)

sizes = some.lists(some.tuples(some.integers(500, 2000), some.integers(500, 2000)), min_size=2)


@some.composite
def clusters(draw: some.DrawFn) -> Snapshot:
    nodes = draw(sizes)
    one = some.tuples(
        some.integers(0, len(nodes) - 1),
        some.integers(0, 400),
        some.integers(0, 400),
        some.floats(0, 400),
        some.floats(0, 400),
    )
    return running(nodes, draw(some.lists(one, max_size=20)))


@every_policy
def test_is_documented(name: str) -> None:
    policy = POLICIES[name]
    assert policy.__doc__
    assert policy.source
    assert "placed" in policy.reads
    assert all(note.doc.endswith(".") for note in parameters.about(policy).values())


@every_policy
def test_its_text_reads_back_as_the_same_policy(name: str) -> None:
    policy = POLICIES[name](interval_ms=1000)
    assert parse_rebalancer(str(policy)) == policy
    spelled = f"{name}[{parameters.spell_all(policy, defaults=True)}]"
    assert parse_rebalancer(spelled) == policy


def test_words_are_joined_by_a_plus() -> None:
    text = "remove_duplicates[not_owner_kinds=DaemonSet+Job]"
    policy: Any = parse_rebalancer(text)
    assert policy.not_owner_kinds == ("DaemonSet", "Job")
    assert str(policy) == text


@every_policy
def test_recorded_cases_find_it(name: str) -> None:
    assert get_rebalancer(f"descheduler_{name}") is POLICIES[name]


@every_policy
@given(seen=clusters())
def test_evicts_what_runs_and_each_once(name: str, seen: Snapshot) -> None:
    policy = POLICIES[name]()
    before = [seen.requested.tobytes(), seen.placed.node.tobytes(), seen.placed.request.tobytes()]
    evicted = policy.evict(seen)
    assert evicted.dtype == np.int64
    assert len(set(evicted.tolist())) == len(evicted)
    assert all(0 <= at < len(seen.placed.node) for at in evicted.tolist())
    assert policy.evict(seen).tolist() == evicted.tolist()
    after = [seen.requested.tobytes(), seen.placed.node.tobytes(), seen.placed.request.tobytes()]
    assert after == before


@every_policy
def test_an_empty_cluster_is_left_alone(name: str) -> None:
    assert POLICIES[name]().evict(running([(100, 100)] * 2, [])).tolist() == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("load_spread[interval_ms=0]", "interval_ms"),
        ("load_spread[margin=0.2]", "'margin'"),
        ("low_node_utilization[thresholds=none]", "thresholds"),
        ("low_node_utilization[thresholds=cpu:120]", "120"),
        ("low_node_utilization[thresholds=cpu:20]", "target_thresholds"),
        ("low_node_utilization[thresholds=cpu:60,target_thresholds=cpu:50]", "60"),
        ("low_node_utilization[usage_source=prometheus]", "MetricResource"),
        ("high_node_utilization[thresholds=none]", "thresholds"),
    ],
)
def test_impossible_parameters_are_refused(text: str, named: str) -> None:
    with pytest.raises(TracekitError, match=named):
        parse_rebalancer(text)
