"""Descheduler cases on branches that the recorded documents do not reach."""

from __future__ import annotations

from typing import Any

import pytest

from tracekit.policy.parse import get_policy
from tracekit.replay.cases import Answer, Question, all_kinds

LOW, HIGH = "descheduler_low_node_utilization", "descheduler_high_node_utilization"


def pod(name: str, node: str, cpu_milli: int = 100, **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "node": node,
        "requests": {"cpu_milli": cpu_milli},
        "owner_kind": "ReplicaSet",
        **changes,
    }


def inputs(**changes: Any) -> dict[str, Any]:
    """n1 is over 50 percent of cpu with pods of 200 and 400 millicores, n2 is empty."""
    room = {"cpu_milli": 1000, "memory_bytes": 1000, "pods": 10}
    return {
        "args": {"thresholds": {"cpu_milli": 20}, "target_thresholds": {"cpu_milli": 50}},
        "nodes": [{"name": "n1", "allocatable": room}, {"name": "n2", "allocatable": room}],
        "pods": [pod("p1", "n1", 400), pod("p2", "n1", 200)],
        "evictor": {"node_fit": True},
        **changes,
    }


def answer(given: dict[str, Any], policy: str = LOW) -> Answer:
    question = Question(
        name="one", inputs=given, policy=lambda: get_policy("first_fit"), policy_name=policy
    )
    return all_kinds()["balance"].answer(question)


def evicted(given: dict[str, Any], policy: str = LOW) -> list[str]:
    result = answer(given, policy)
    assert result.values["evicted"] == len(result.values["evicted_subset_of"])
    return list(result.values["evicted_subset_of"])


def test_a_request_of_what_no_node_has_fits_nowhere() -> None:
    given = inputs()
    for one in given["pods"]:
        one["requests"]["example.com/gpu"] = 1
    assert evicted(given) == []
    given["evictor"] = {"node_fit": False}
    assert evicted(given) == ["p2"]


def metrics(**changes: Any) -> dict[str, Any]:
    given = inputs(**changes)
    given["args"]["usage_source"] = "metrics_server"
    return given


def test_a_pod_without_metrics_is_passed_over() -> None:
    nodes = {"n1": {"cpu_milli": 900, "memory_bytes": 1}, "n2": {"cpu_milli": 0}}
    of_pods = {"default/p1": {"cpu_milli": 450}}
    assert evicted(metrics(node_metrics=nodes, pod_metrics=of_pods)) == ["p1"]


def test_a_node_without_metrics_stops_it_all() -> None:
    result = answer(metrics(node_metrics={"n1": {"cpu_milli": 900}}))
    assert result.values["evicted"] == 0
    assert "'n2' has no metrics" in result.note


@pytest.mark.parametrize("sample", [None, 1.01, -0.1])
def test_a_sample_that_is_no_fraction_stops_it_all(sample: float | None) -> None:
    args = {
        "usage_source": "prometheus",
        "thresholds": {"MetricResource": 20},
        "target_thresholds": {"MetricResource": 50},
    }
    given = inputs(args=args, prometheus_samples={"n1": 0.9, "n2": 0.1})
    assert evicted(given) == ["p2"]
    given["prometheus_samples"]["n2"] = sample
    result = answer(given)
    assert result.values["evicted"] == 0
    assert "expected 0..1" in result.note


def test_high_may_consider_only_pods_that_state_a_request_of_the_resource() -> None:
    args = {"thresholds": {"cpu_milli": 20}, "eviction_modes": ["OnlyThresholdingResources"]}
    pods = [pod("p1", "n1", 700), pod("p2", "n2", 0), pod("p3", "n2", requests={})]
    assert evicted(inputs(args=args, pods=pods), HIGH) == ["p2"]
    args["eviction_modes"] = []
    assert evicted(inputs(args=args, pods=pods), HIGH) == ["p2", "p3"]


def test_the_table_says_who_goes_and_why_others_are_protected() -> None:
    for changes, why in (
        ({"mirror": True}, "mirror"),
        ({"mirror": True, "evict_annotation": True}, ""),
        ({"evict_annotation": True, "namespace": "kept"}, "evictableNamespaces"),
    ):
        given = inputs(pods=[pod("p1", "n1", 400, **changes), pod("p2", "n1", 200)])
        given["args"]["evictable_namespaces_exclude"] = ["kept"]
        assert answer(given).rows == [["p1", "n1", None, why], ["p2", "n1", 1, ""]]
