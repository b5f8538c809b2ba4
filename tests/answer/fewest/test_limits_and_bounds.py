"""Limits of a study of the fewest nodes, and the bounds that they prove."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import workload
from shrink_support import EVEN, row, shrunk

from tracekit.answer.fewest.search.least_nodes import least_nodes
from tracekit.answer.fewest.search.limits import Limits, parse_limits
from tracekit.answer.fewest.words.next import following
from tracekit.answer.fewest.words.production import production
from tracekit.answer.fewest.words.told import told
from tracekit.errors import TracekitError
from tracekit.replay.policy.parse import parse_policy
from tracekit.replay.workload.workload import Workload


def test_a_limit_on_a_further_resource() -> None:
    """Sixteen that ask for 1 of 4 GPUs each: two on a node are half."""
    request = np.column_stack([EVEN.request, np.ones(EVEN.containers, np.int64)])
    gpus = dataclasses.replace(
        EVEN,
        resources=(*EVEN.resources, "gpu"),
        capacity=np.column_stack([EVEN.capacity, np.full(EVEN.nodes, 4)]),
        request=request,
        nonzero_request=request,
        limit=request,
    )
    for share, nodes in ((1.0, 4), (0.75, 6), (0.5, 8)):
        found = row(shrunk(gpus, f"gpu_max <= {share}", policies=["worst_fit"]), "worst_fit")
        assert (found["nodes"], found["gpu_max_fraction"]) == (
            nodes,
            pytest.approx(16 / nodes / 4, abs=0.1),
        )
    with pytest.raises(TracekitError, match="the run has no measure 'network_max_fraction'"):
        shrunk(gpus, "network_max_fraction <= 1", policies=["worst_fit"])


def test_fewer_nodes_are_as_full_as_all_where_production_overfills_some() -> None:
    """Production's fullest node is at 180 %, spread out it is at 48 %: that is not given up."""
    load = workload([(100, 100)] * 8, [(0, 9000, 5, 5, 0)] * 60, used_share=0.6)
    study = shrunk(load, policies=["worst_fit"])
    assert study.about["observed"]["measures"]["cpu_p99_fraction"] == pytest.approx(1.8)
    assert "cpu_p99_fraction <= max(1, base + 0.005)" in study.about["limits"]
    held = study.frames["policies"].row(0, named=True)
    assert held["nodes"] < 8
    assert held["cpu_max_fraction"] <= 1
    broken = "Production itself does not hold CPU use, 99th percentile at most"
    assert broken not in production(study)
    found = told(study)
    assert found is not None
    asked = [command for _, command in following(found, to=str)]
    as_full = [one for one in asked if "--limit 'cpu_p99_fraction <= observed'" in one]
    assert len(as_full) == 1
    again = shrunk(load, "cpu_p99_fraction <= observed", policies=["worst_fit"])
    assert row(again, "worst_fit")["nodes"] <= held["nodes"]


def test_a_node_that_all_placements_overfill_once_is_no_reason_for_more_nodes() -> None:
    """One container alone uses more than a node has: more nodes change nothing."""
    load = workload([(100, 100)] * 8, [(0, 9000, 5, 5, at) for at in range(8)], used_share=0.6)
    load.usage[0, :, 0] = 120
    study = shrunk(load, policies=["worst_fit"])
    assert study.frames["policies"].row(0, named=True)["nodes"] <= 8
    assert study.about["observed"]["measures"]["cpu_p99_fraction"] == pytest.approx(1.2)


def test_a_limit_that_nobody_typed_may_be_beyond_what_percent_would_be() -> None:
    """Production's fullest node is at 1,800 %: that is its limit, not a mistake of the user."""
    load = workload([(100, 100)] * 8, [(0, 9000, 5, 5, 0)] * 60, used_share=6.0)
    with pytest.raises(TracekitError, match="overloaded node-steps would come to 12, above 4"):
        shrunk(load, policies=["first_fit"])
    with pytest.raises(TracekitError, match="is a share, 1 is all; 18 would be 1,800 %"):
        shrunk(load, "cpu_p99_fraction <= 18", policies=["first_fit"])


def test_a_limit_may_speak_of_production() -> None:
    """Production has two of 25 on each of eight nodes of 100, so half of each is used."""
    load = dataclasses.replace(EVEN, recorded_node=np.arange(16) % 8)
    found = shrunk(load, "cpu_max_fraction <= 1.5 * observed", policies=["worst_fit"])
    assert row(found, "worst_fit")["nodes"] == 6
    observed = found.about["observed"]
    assert (observed["nodes"], observed["measures"]["cpu_max_fraction"]) == (8, pytest.approx(0.5))
    usual = shrunk(load, policies=["worst_fit"]).about["limits"]
    assert usual == [
        "overloaded_node_steps <= 0", "cpu_p99_fraction <= 1", "memory_p99_fraction <= 1",
        "cpu_max_fraction <= 2", "memory_max_fraction <= 2",
    ]  # fmt: skip
    more = shrunk(load, "cpu_max_fraction >= 0.6")
    assert more.about["observed"]["breaks"] == ["cpu_max_fraction >= 0.6"]
    unknown = dataclasses.replace(EVEN, recorded_node=np.full(16, -1))
    assert shrunk(unknown).about["limits"] == ["overloaded_node_steps <= 0"]
    with pytest.raises(TracekitError, match="so 'observed' is not known"):
        shrunk(unknown, "cpu_max_fraction <= observed")


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
        (["pending_container_steps <= 0"], True),
        (["first_fit: pending_container_steps <= 3"], True),
    ],
)
def test_no_bound_where_containers_may_wait(texts: list[str], proven: bool) -> None:
    limits = parse_limits(texts, ["best_fit", "first_fit"])
    assert (least_nodes(EVEN, parse_policy("best_fit"), limits) is not None) == proven


@settings(max_examples=60)
@given(
    some.lists(some.tuples(some.integers(1, 60), some.integers(1, 60)), min_size=1, max_size=5),
    some.lists(some.tuples(some.integers(40, 90), some.integers(40, 90)), min_size=1, max_size=3),
    some.integers(0, 2),
)
def test_the_bound_with_some_never_placed_is_below_every_placement(
    asked: list[tuple[int, int]], nodes: list[tuple[int, int]], most: int
) -> None:
    """All ways to place all but so many, one by one."""
    load = workload(nodes, [(0, 9000, *one) for one in asked])
    fewest = min(
        (
            len({node for node in where if node < len(nodes)})
            for where in itertools.product(range(len(nodes) + 1), repeat=len(asked))
            if where.count(len(nodes)) <= most and _fits(load, where)
        ),
        default=None,
    )
    limits = parse_limits([f"pending <= {most}", "pending_container_steps <= 9"], ["best_fit"])
    bound = least_nodes(load, parse_policy("best_fit"), limits)
    assert bound is not None
    # where all but so many fit nowhere nothing is promised, and no study uses no node
    assert fewest is None or bound <= max(fewest, 1)


def _fits(load: Workload, where: Sequence[int]) -> bool:
    used = np.zeros((load.nodes + 1, 2), np.int64)
    np.add.at(used, np.array(where), load.request)
    return bool((used[: load.nodes] <= load.capacity).all())


def test_use_bounds_a_policy_that_ignores_requests() -> None:
    """Requests of 100 on 8 nodes, of which a tenth is used."""
    load = workload([(100, 1000)] * 8, [(0, 9000, 90, 10)] * 8, used_share=0.1)
    policy = parse_policy("observed")
    assert not policy.filtered
    assert least_nodes(load, policy, parse_limits([], ["observed"])) == 1
    assert least_nodes(load, parse_policy("best_fit"), parse_limits([], ["best_fit"])) == 8


HALF_EMPTY = workload([(16_000, 64)] * 60, [(0, 9000, 2_000, 8)] * 120, used_share=0.5)


@pytest.mark.parametrize(
    ("limit", "bound"),
    [
        ("cpu_max_fraction <= 0.3", 30),
        ("cpu_p99_fraction <= 0.3", 30),
        ("cpu_mean_fraction <= 0.2", 38),
        ("cpu_p99_fraction <= 0.15", 60),
        ("cpu_mean_fraction <= 0.9", 15),
    ],
)
def test_every_limit_on_use_bounds(limit: str, bound: int) -> None:
    """120 containers that use 1 of 16 cores each: 4 are within 30 %. 15 nodes hold all requests."""
    limits = parse_limits([limit], ["least_allocated"])
    assert least_nodes(HALF_EMPTY, parse_policy("least_allocated"), limits) == bound


def test_of_many_nodes_the_percentile_proves_one_hundred_at_most() -> None:
    """150 would be needed if none might be full; one in 100 may."""
    load = workload([(10, 100)] * 200, [(0, 9000, 5, 1)] * 300, used_share=1.0)
    policy = parse_policy("observed")
    for limit, bound in (("cpu_max_fraction <= 1.0", 150), ("cpu_p99_fraction <= 1.0", 100)):
        assert least_nodes(load, policy, parse_limits([limit], ["observed"])) == bound


def test_waiting_may_be_allowed() -> None:
    """Two that follow each other share a node; with both at once one waits."""
    rows = [(0, 9000, 60, 1), (0, 9000, 60, 1)]
    assert row(shrunk(workload([(100, 100)] * 2, rows)))["nodes"] == 2
    allowed = shrunk(
        workload([(100, 100)] * 2, rows), "pending <= 1", "pending_container_steps <= 4"
    )
    assert row(allowed)["nodes"] == 1
    assert row(allowed)["bound"] == 1


def test_the_base_is_the_policy_on_all_nodes() -> None:
    found = shrunk(EVEN, "cpu_max_fraction <= 1.5 * base", policies=["worst_fit"])
    told = found.frames["sizes"].filter(nodes=8).row(0, named=True)
    assert told["cpu_max_fraction"] == pytest.approx(0.5)
    assert row(found, "worst_fit")["nodes"] == 6


ERRORS = [
    (["cpu_max_mean <= 0.8"], {}, "--limit 'cpu_max_mean <= 0.8': the run has no measure"),
    (["cpu_max_fraction"], {}, "--limit 'cpu_max_fraction' compares nothing"),
    (["first_fit: pending == 0"], {}, "policy 'first_fit' is not replayed"),
    (["cpu_max_fraction <= 0.2"], {}, "highest CPU use would come to 100.0 %, above 20.0 %"),
    (["kept_calls_share > 0.1"], {}, "has no measure 'kept_calls_share'"),
    (
        [],
        {"scale": 40},
        (
            "best_fit: .* containers left without a node would come to 608, not 0.* sixteen"
            " times as many"
        ),
    ),
    ([], {"scale": 0}, "--scale 0 is no number above 0"),
    ([], {"policies": ["bestfit"]}, "no policy named 'bestfit'"),
]


@pytest.mark.parametrize(("limits", "more", "message"), ERRORS)
def test_errors(limits: list[str], more: dict[str, Any], message: str) -> None:
    with pytest.raises(TracekitError, match=message):
        shrunk(EVEN, *limits, **more)


def test_limits_of_one_policy() -> None:
    limits = parse_limits(["best_fit: cpu_max_fraction <= 0.5"], ["best_fit", "first_fit"])
    assert isinstance(limits, Limits)
    assert limits.most_use("best_fit")[0] == 0.5
    assert limits.most_use("first_fit") == (float("inf"), float("inf"))
