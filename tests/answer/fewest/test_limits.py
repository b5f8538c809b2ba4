"""Limits of a study of the fewest nodes, and the bounds that they prove."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import changed, workload
from shrink_support import EVEN, given_source, limits, row, shrunk, thresholds

from tracekit.answer.fewest.bound import least_nodes
from tracekit.answer.fewest.limits import limits_at
from tracekit.answer.fewest.study import count_nodes
from tracekit.answer.nodes import answer_of_nodes
from tracekit.base.errors import TracekitError
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import parse_entrant
from tracekit.policy.parse import parse_policy


@pytest.mark.parametrize(
    ("texts", "more"), [(["cpu_max_fraction <= 0.2"], {}), ([], {"scale": 40})]
)
def test_what_no_count_keeps_is_an_answer(texts: Sequence[str], more: dict[str, Any]) -> None:
    study = shrunk(EVEN, *texts, **more)
    assert study.frames["policies"]["nodes"].to_list() == [None]
    answer = answer_of_nodes(study)
    assert answer.facts[0].because == "none_holds"
    assert [one.value for one in answer.of("nodes_needed")] == [None]


def test_limits_are_checked_before_the_first_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object) -> Workload:
        raise AssertionError("the workload was read")

    monkeypatch.setattr("tracekit.answer.fewest.searches._loaded", load)
    entrants = {"best_fit": parse_entrant("best_fit")}
    with pytest.raises(TracekitError):
        count_nodes(given_source(EVEN), entrants, limits=thresholds("cpu_max <= 0.8"))


def test_a_limit_may_speak_of_production() -> None:
    """Production has two of 25 on each of eight nodes of 100, so half of each is used."""
    load = changed(EVEN, containers={"recorded_node": np.arange(16) % 8})
    result = shrunk(load, "cpu_max_fraction <= 1.5 * observed", policies=["worst_fit"])
    assert row(result, "worst_fit")["nodes"] == 6
    observed = result.about["observed"]
    assert (observed["nodes"], observed["measures"]["cpu_max_fraction"]) == (8, pytest.approx(0.5))
    more = shrunk(load, "cpu_max_fraction >= 0.6")
    assert more.about["observed"]["breaks"] == ["cpu_max_fraction >= 0.6"]


def test_limits_of_one_policy() -> None:
    given_ = thresholds("best_fit: cpu_max_fraction <= 0.5")
    within = limits_at(EVEN.rules.ceiling, given_, None)
    assert within.most("best_fit", "cpu_max_fraction") == 0.5
    assert within.most("best_fit", "cpu_p99_over_time_fraction") == float("inf")
    assert within.most("first_fit", "cpu_p99_over_time_fraction") == 0.8
    assert within.most("best_fit", "memory_max_fraction") == 0.9


@pytest.mark.parametrize(
    ("texts", "proven"),
    [
        ([], True),
        (["cpu_max_fraction <= 0.9"], True),
        (["pending <= 3"], True),
        # at the end all have a node
        (["pending_container_steps <= 3"], True),
        (["pending <= 2 * base", "pending_container_steps <= 3"], False),
        (["pending <= 3", "pending_container_steps <= 3"], True),
        (["first_fit: pending_container_steps <= 3"], True),
    ],
)
def test_no_bound_where_containers_may_wait(texts: list[str], proven: bool) -> None:
    result = least_nodes(EVEN, parse_policy("best_fit"), limits(EVEN, *texts))
    assert (result is not None) == proven


@settings(max_examples=60)
@given(
    some.lists(some.tuples(some.integers(1, 60), some.integers(1, 60)), min_size=1, max_size=5),
    some.lists(some.tuples(some.integers(40, 90), some.integers(40, 90)), min_size=1, max_size=3),
    some.integers(0, 2),
)
def test_the_bound_with_some_never_placed_is_below_every_placement(
    requested: list[tuple[int, int]], nodes: list[tuple[int, int]], most: int
) -> None:
    """All ways to place all but so many, one by one."""
    load = workload(nodes, [(0, 9000, *one) for one in requested])
    fewest = min(
        (
            len({node for node in where if node < len(nodes)})
            for where in itertools.product(range(len(nodes) + 1), repeat=len(requested))
            if where.count(len(nodes)) <= most and _fits(load, where)
        ),
        default=None,
    )
    within = limits(load, f"pending <= {most}", "pending_container_steps <= 9")
    bound = least_nodes(load, parse_policy("best_fit"), within)
    assert bound is not None
    # where all but so many fit nowhere nothing is promised, and no study uses no node
    assert fewest is None or bound <= max(fewest, 1)


def _fits(load: Workload, where: Sequence[int]) -> bool:
    used = np.zeros((load.nodes.count + 1, 2), np.int64)
    np.add.at(used, np.array(where), load.containers.request)
    return bool((used[: load.nodes.count] <= load.nodes.capacity).all())


HALF_EMPTY = workload([(16_000, 64)] * 60, [(0, 9000, 2_000, 8)] * 120, used_share=0.5)


@pytest.mark.parametrize(
    ("limit", "bound"),
    [
        ("cpu_max_fraction <= 0.3", 25),
        ("cpu_p99_over_time_fraction <= 0.3", 25),
        ("cpu_p99_fraction <= 0.3", 25),
        ("above_ceiling_node_steps <= 0", 15),
        ("cpu_mean_fraction <= 0.2", 38),
        ("cpu_p99_fraction <= 0.15", 60),
        ("cpu_mean_fraction <= 0.9", 15),
    ],
)
def test_every_limit_on_use_bounds(limit: str, bound: int) -> None:
    """120 containers that use 1 of 16 cores each: by volume 25 are needed within 30 %."""
    result = least_nodes(HALF_EMPTY, parse_policy("least_allocated"), limits(HALF_EMPTY, limit))
    assert result is not None
    assert bound <= result <= bound + 5


def test_use_bounds_a_policy_that_ignores_requests() -> None:
    """Requests of 90 on 8 nodes of 100, of which a tenth is used."""
    load = workload([(100, 1000)] * 8, [(0, 9000, 90, 10)] * 8, used_share=0.1)
    policy = parse_policy("observed")
    assert not policy.filtered
    assert least_nodes(load, policy, limits(load)) == 1
    assert least_nodes(load, parse_policy("best_fit"), limits(load)) == 8


def test_of_many_nodes_the_percentile_proves_one_hundred_at_most() -> None:
    """150 would be needed if none might be full; one in 100 may."""
    load = workload([(10, 100)] * 200, [(0, 9000, 5, 1)] * 300, used_share=1.0)
    policy = parse_policy("observed")
    for limit, bound in (("cpu_max_fraction <= 1.0", 150), ("cpu_p99_fraction <= 1.0", 100)):
        assert least_nodes(load, policy, limits(load, limit)) == bound
