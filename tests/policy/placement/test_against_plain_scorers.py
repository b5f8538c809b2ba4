"""The scorers by measured use against slow ones that take one node at a time, on random cases."""

from __future__ import annotations

from typing import Any

import pytest
import scorer_support as plain
from hypothesis import given
from hypothesis import strategies as some

from tracekit.policy.parse import get_policy
from tracekit.replay.cases import Question, all_kinds

GPU = "nvidia.com/gpu"

requests = some.fixed_dictionaries(
    {},
    optional={
        "cpu_milli": some.integers(0, 1500),
        "memory_bytes": some.integers(0, 2**31),
        GPU: some.integers(0, 2),
    },
)
limits = some.fixed_dictionaries(
    {},
    optional={"cpu_milli": some.integers(0, 3000), "memory_bytes": some.integers(0, 2**32)},
)
containers = some.fixed_dictionaries({"requests": requests, "limits": limits})
pods = some.fixed_dictionaries({"containers": some.lists(containers, max_size=3)})
rooms = some.fixed_dictionaries(
    {
        "cpu_milli": some.one_of(some.just(0), some.integers(500, 8000)),
        "memory_bytes": some.one_of(some.just(0), some.integers(2**20, 2**34)),
    },
    optional={GPU: some.integers(0, 4)},
)
#: Nobody measures finer; the square of 1e-77 is nothing to one form and something to another.
percent = some.one_of(
    some.integers(0, 110).map(float), some.floats(0, 110).map(lambda value: round(value, 9))
)
metric = some.fixed_dictionaries(
    {
        "type": some.sampled_from(["CPU", "CPU", "Memory", "Bandwidth"]),
        "operator": some.sampled_from(["AVG", "STD", "Latest", "", "P95"]),
        "value": percent,
    }
)


@some.composite
def cases(draw: some.DrawFn) -> dict[str, Any]:
    """Two or three nodes with pods, metrics of some of them, recent pods, and a pod."""
    nodes = [
        {
            "name": f"n{at}",
            "capacity": draw(rooms),
            "allocatable": draw(rooms),
            "pods": draw(some.lists(pods, max_size=2)),
        }
        for at in range(draw(some.integers(2, 3)))
    ]
    names = some.sampled_from([node["name"] for node in nodes])
    measured = some.dictionaries(names, some.lists(metric, max_size=4))
    recent = some.fixed_dictionaries({"timestamp": some.integers(935, 1005), "pod": pods})
    return {
        "nodes": nodes,
        "pod": draw(pods),
        "metrics": {"window_end": 1000, "nodes": draw(some.none() | measured)},
        "recent_pods": draw(some.dictionaries(names, some.lists(recent, max_size=2))),
    }


def answered(policy: str, case: dict[str, Any], args: dict[str, Any]) -> dict[str, int]:
    """Scores as ``tracekit explain`` gives them."""
    question = Question(
        name="random", inputs={**case, "args": args}, policy=lambda: get_policy(policy)
    )
    found: dict[str, int] = all_kinds()["score"].answer(question).values["scores"]
    return found


@given(cases(), some.integers(1, 100), some.integers(0, 2000), some.floats(0, 3))
def test_target_load_packing(
    case: dict[str, Any], target: int, default: int, multiplier: float
) -> None:
    args = {
        "target_utilization": target,
        "default_requests_cpu_milli": default,
        "requests_multiplier": multiplier,
    }
    expected = {
        node["name"]: plain.target_load_packing(
            node, case["pod"], args, case["metrics"], case["recent_pods"].get(node["name"], [])
        )
        for node in case["nodes"]
    }
    assert answered("trimaran_target_load_packing", case, args) == expected


@given(cases(), some.floats(0, 4), some.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0]))
def test_load_variation_risk_balancing(
    case: dict[str, Any], margin: float, sensitivity: float
) -> None:
    args = {"safe_variance_margin": margin, "safe_variance_sensitivity": sensitivity}
    found = answered("trimaran_load_variation_risk_balancing", case, args)
    for node in case["nodes"]:
        # powers of numpy and of Python may differ in their last bit, and so may a rounding
        expected = plain.load_variation(node, case["pod"], args, case["metrics"])
        assert found[node["name"]] == pytest.approx(expected, abs=1 if sensitivity == 4 else 0)


@given(cases(), some.integers(1, 10), some.floats(0, 1))
def test_low_risk_overcommitment(case: dict[str, Any], window: int, weight: float) -> None:
    args = {"smoothing_window_size": window, "risk_limit_weights": {"cpu": weight}}
    expected = {
        node["name"]: plain.low_risk(node, case["pod"], args, case["metrics"])
        for node in case["nodes"]
    }
    assert answered("trimaran_low_risk_overcommitment", case, args) == expected
