"""Worked numbers of the scorers' formulas, and their edges, by hand.

The numbers of the first tables are the worked examples of the project's algorithm notes (groups k8s
and trimaran); those of LRA and BRA follow TBESK (Geng & Wang 2023) eqs 1 and 2.
"""

from __future__ import annotations

import numpy as np
import pytest
from replay_support import container, snapshot

from tracekit.policy.parse import parse_policy
from tracekit.policy.placement._parts.requested import divide, half_away, to_int
from tracekit.policy.placement.load_aware import risk_score

GIB = 2**30


def test_the_older_form_of_load_variation() -> None:
    given = np.array([1.0]), 0.0, np.array([0.7])
    form = {"margin": 1.0, "sensitivity": 1.0, "prose": True}
    cpu = risk_score(*given, np.array([0.1]), **form)  # type: ignore[arg-type]
    memory = risk_score(*given, np.array([0.05]), **form)  # type: ignore[arg-type]
    assert cpu == pytest.approx([20.0], abs=1e-9)
    assert memory == pytest.approx([25.0], abs=1e-9)


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


ROUNDED = [(0.5, 1), (-0.5, -1), (2.5, 3), (0.49999999999999994, 0), (-2.4, -2), (1e15, 10**15)]


@pytest.mark.parametrize(("value", "rounded"), ROUNDED)
def test_half_away(value: float, rounded: int) -> None:
    assert half_away(value) == rounded


def test_integers_as_go_has_them() -> None:
    assert divide([7, -7, 7, -7], [2, 2, -2, 0]).tolist() == [3, -3, -3, 0]
    assert to_int([1.9, -1.9, 1e19, -1e19]).tolist() == [1, -1, -(2**63), -(2**63)]
