"""Worked numbers of the scorers' formulas, and their edges, by hand.

The numbers of the first tables are the worked examples of the project's algorithm notes (groups k8s
and trimaran); those of LRA and BRA follow TBESK (Geng & Wang 2023) eqs 1 and 2.
"""

from __future__ import annotations

import numpy as np
import pytest
from replay_support import container, snapshot

from tracekit.base.parameters import ParameterError
from tracekit.policy.parse import get_policy, parse_policy
from tracekit.policy.placement._parts import beta as distribution
from tracekit.policy.placement._parts import overcommit as risks
from tracekit.policy.placement._parts.integers import divide, half_away, to_int
from tracekit.policy.placement.load_variation_risk_balancing import risk_score
from tracekit.policy.placement.target_load_packing import packing_score

GIB = 2**30

#: util percent, capacity, pod, missing (milli), target -> score
PACKING = [
    (0, 1000, 0, 0, 40, 40),
    (50, 1000, 0, 0, 40, 33),
    (30, 1000, 1000, 0, 40, 0),
    (20, 8000, 1500, 500, 40, 37),
    (35, 8000, 400, 0, 40, 100),
    (35, 8000, 401, 0, 40, 40),
    (65, 8000, 1200, 0, 65, 37),
]


@pytest.mark.parametrize(("util", "capacity", "pod", "missing", "target", "score"), PACKING)
def test_target_load_packing(
    util: int, capacity: int, pod: int, missing: int, target: int, score: int
) -> None:
    percent = 100 * (util / 100 * capacity + pod + missing) / capacity
    assert packing_score(np.array([percent]), float(target)).tolist() == [score]


def test_packing_without_a_metric_scores_0_and_a_target_of_100_has_no_upper_branch() -> None:
    assert packing_score(np.array([np.nan]), 40.0).tolist() == [0]
    assert packing_score(np.array([0.0, 50.0, 100.0, 100.1]), 100.0).tolist() == [100] * 3 + [0]


#: used, deviation, request, capacity, margin, sensitivity -> score
VARIATION = [
    (40, 36, 10, 100, 1, 1, 57),
    (40, 36, 10, 0, 1, 2, 0),
    (-40, 36, 10, 100, 1, 2, 65),
    (200, 36, 10, 100, 1, 2, 20),
    (40, -36, 10, 100, 1, 2, 75),
    (40, 120, 10, 100, 1, 2, 25),
    (40, 36, 10, 100, -1, 1, 75),
    (40, 36, 10, 100, 1, -1, 57),
    (40, 36, 10, 100, 1, 0, 75),
    (100, 0, 0, 100, 1, 1, 50),  # full and steady
    (0, 100, 0, 100, 1, 0, 50),  # the limit of small roots leaves a deviation of 1
]


@pytest.mark.parametrize("row", VARIATION)
def test_load_variation(row: tuple[float, ...]) -> None:
    used, deviation, request, capacity, margin, sensitivity, score = row
    found = risk_score(
        np.array([float(capacity)]),
        float(request),
        np.array([float(used)]),
        np.array([float(deviation)]),
        margin=margin,
        sensitivity=sensitivity,
    )
    assert half_away(found).tolist() == [score]


def test_the_older_form_of_load_variation() -> None:
    given = np.array([1.0]), 0.0, np.array([0.7])
    form = {"margin": 1.0, "sensitivity": 1.0, "prose": True}
    cpu = risk_score(*given, np.array([0.1]), **form)  # type: ignore[arg-type]
    memory = risk_score(*given, np.array([0.05]), **form)  # type: ignore[arg-type]
    assert cpu == pytest.approx([20.0], abs=1e-9)
    assert memory == pytest.approx([25.0], abs=1e-9)


#: mu, sigma, request, limit, request and limit without the pod, capacity -> risk
OVERCOMMIT = [
    (0.8, 0, 2000, 3000, 1000, 2000, 4000, 0.5),
    (0.25, 0, 2048, 6144, 0, 0, 4096, 0.25),
    (0.8, 0, 4000, 5000, 3000, 4000, 4000, 1.0),
    (0.25, 0, 1024, 7168, 512, 6144, 4096, 0.75),
    (0.5, 0.05, 3000, 5000, 2400, 3600, 4000, 0.34617834870621),
]


def totals(*row: float) -> risks.Totals:
    names = ("request", "limit", "request_before", "limit_before", "capacity")
    return risks.Totals(
        **{name: np.array([float(one)]) for name, one in zip(names, row, strict=False)}
    )


@pytest.mark.parametrize("row", OVERCOMMIT)
def test_low_risk_overcommitment(row: tuple[float, ...]) -> None:
    mu, sigma, *amounts, risk = row
    node = totals(*amounts)
    load = risks.load_risk(node, np.array([mu]), np.array([sigma]), 5)
    assert risks.total_risk(risks.limit_risk(node), load, 0.5) == pytest.approx([risk], abs=1e-9)


def test_the_parts_of_an_overcommitment_risk() -> None:
    node = totals(3000, 5000, 2400, 3600, 4000)
    assert risks.limit_risk(node) == pytest.approx([0.5])
    load = risks.load_risk(node, np.array([0.5]), np.array([0.05]), 5)
    assert load == pytest.approx([0.19235669741242], abs=1e-9)
    spread = 0.05 * 5**0.5
    assert [float(one) for one in distribution.fit(0.5, spread**2 + 0.25)] == pytest.approx(
        [9.5, 9.5]
    )


def test_no_more_than_99_percent_of_the_largest_variance_is_believed() -> None:
    # half of the time nothing, half of the time all: Beta with k = 1/0.99 - 1, and P(X <= 1/2) 1/2
    node = totals(2000, 4000, 2000, 4000, 4000)
    load = risks.load_risk(node, np.array([0.5]), np.array([0.5]), 5)
    assert load == pytest.approx([0.5])


def test_a_node_without_capacity_is_no_risk_by_load() -> None:
    node = totals(0, 0, 0, 0, 0)
    assert risks.load_risk(node, np.array([0.0]), np.array([0.0]), 5).tolist() == [0.0]
    assert risks.limit_risk(node).tolist() == [0.0]


# 20 of 32 cores and 24 of 64 GiB are requested with the pod
HALF_USED = snapshot([(32_000, 64 * GIB)], [(16_000, 20 * GIB)])
POD = container(4_000, 4 * GIB)
FORMS = [
    ("lra", 5.0),
    ("bra", 7.5),
    ("lra[variant=legacy_int]", 4),
    ("lra[variant=modern_int]", 49),
    ("bra[variant=legacy_int]", 7),
    ("bra[variant=modern_int]", 87),
    ("least_requested", 4),
    ("least_requested[max_score=100]", 49),
    ("balanced_allocation", 87),
    ("balanced_allocation[form=legacy_10]", 7),
    ("balanced_allocation[form=legacy_100]", 75),
    # deviation 0.125 with the pod, 0.09375 without: 50 + (50 + 87 - 90) div 2
    ("balanced_allocation[form=v1_36]", 73),
]


@pytest.mark.parametrize(("policy", "score"), FORMS)
def test_forms_of_least_and_balanced_requests(policy: str, score: float) -> None:
    assert parse_policy(policy).score(HALF_USED, POD, np.array([0])).tolist() == [score]


def test_old_balance_is_0_on_a_full_node() -> None:
    full = snapshot([(32_000, 64 * GIB)], [(28_000, 20 * GIB)])
    for policy in ("bra[variant=legacy_int]", "balanced_allocation[form=legacy_100]"):
        assert parse_policy(policy).score(full, POD, np.array([0])).tolist() == [0]


#: requested before, requested by the container -> score, on 32 cores and 64 GiB
BALANCE_CHANGES = [
    ((0, 0), (16_000, 32 * GIB), 75),  # as even as before
    ((16_000, 0), (0, 30 * GIB), 86),  # 75 becomes 98: 50 + 73 div 2
    ((16_000, 32 * GIB), (16_000, 0), 62),  # 100 becomes 75: 50 + 25 div 2
]


@pytest.mark.parametrize(("before", "asked", "score"), BALANCE_CHANGES)
def test_change_of_balance(before: tuple[int, int], asked: tuple[int, int], score: int) -> None:
    seen = snapshot([(32_000, 64 * GIB)], [before])
    policy = parse_policy("balanced_allocation[form=v1_36]")
    assert policy.score(seen, container(*asked), np.array([0])).tolist() == [score]


def test_a_node_without_a_resource_is_worst_in_the_paper_forms() -> None:
    seen = snapshot([(0, 64 * GIB), (32_000, 64 * GIB)], [(0, 0), (0, 0)])
    for policy, score in (("lra", [0.0 + 10 * 60 / 64 / 2, 9.0625]), ("bra", [0.0, 9.375])):
        found = parse_policy(policy).score(seen, POD, np.arange(2))
        assert found.tolist() == pytest.approx(score)


NORMALIZED = [
    ("peaks", [0, 0], [0, 0]),
    ("peaks", [100, 100], [100, 100]),
    ("peaks", [-5, 0, 5], [100, 50, 0]),
    ("peaks", [1, 2, 4], [100, 67, 0]),  # 100 - trunc(33.3)
    ("peaks", [0, 9_223_372_036], [100, 0]),
    ("node_resources_allocatable", [7, 7], [0, 0]),
    ("node_resources_allocatable", [-9, -6, -2], [0, 42, 100]),
]


@pytest.mark.parametrize(("policy", "raw", "final"), NORMALIZED)
def test_normalized(policy: str, raw: list[int], final: list[int]) -> None:
    assert get_policy(policy)().normalize(np.array(raw)).tolist() == final


ROUNDED = [(0.5, 1), (-0.5, -1), (2.5, 3), (0.49999999999999994, 0), (-2.4, -2), (1e15, 10**15)]


@pytest.mark.parametrize(("value", "rounded"), ROUNDED)
def test_half_away(value: float, rounded: int) -> None:
    assert half_away(value) == rounded


def test_integers_as_go_has_them() -> None:
    assert divide([7, -7, 7, -7], [2, 2, -2, 0]).tolist() == [3, -3, -3, 0]
    assert to_int([1.9, -1.9, 1e19, -1e19]).tolist() == [1, -1, -(2**63), -(2**63)]


REFUSED = [
    ("requested_to_capacity_ratio[shape=none]", "scoringStrategy.shape"),
    (
        "requested_to_capacity_ratio[shape=0:0+0:5]",
        "scoringStrategy.shape[1].utilization",
    ),
    (
        "requested_to_capacity_ratio[shape=0:0+101:5]",
        "scoringStrategy.shape[1].utilization",
    ),
    (
        "requested_to_capacity_ratio[shape=0:11]",
        "scoringStrategy.shape[0].score",
    ),
    ("requested_to_capacity_ratio[resources=cpu:0]", "scoringStrategy.resources[0].weight"),
    ("node_resources_allocatable[resources=cpu:1+memory:0]", "resources[1].weight"),
    ("low_risk_overcommitment[risk_limit_weights=cpu:1.5]", "risk_limit_weights"),
    ("low_risk_overcommitment[smoothing_window_size=0]", "smoothing_window_size"),
    ("target_load_packing[target_utilization=0]", "target_utilization"),
    ("target_load_packing[target_utilization=160]", "target_utilization"),
    ("load_variation_risk_balancing[safe_variance_margin=-1]", "safe_variance_margin"),
    ("default_scheduler[percentage_of_nodes_to_score=101]", "percentage_of_nodes_to_score"),
]


@pytest.mark.parametrize(("policy", "field"), REFUSED)
def test_parameters_that_are_refused(policy: str, field: str) -> None:
    with pytest.raises(ParameterError) as raised:
        parse_policy(policy)
    assert raised.value.field == field
