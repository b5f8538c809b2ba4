"""Descheduler cases on branches that the recorded documents do not reach."""

from __future__ import annotations

from typing import Any

import pytest

from tracekit.policy.parse import get_policy
from tracekit.replay.cases.case import Answer, Question
from tracekit.replay.cases.kinds import all_kinds

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


def answer(given: dict[str, Any], policy: str | None = LOW) -> Answer:
    question = Question(
        name="one", inputs=given, policy=lambda: get_policy("first_fit"), policy_name=policy
    )
    return all_kinds()["balance"].answer(question)


def evicted(given: dict[str, Any], policy: str = LOW) -> list[str]:
    found = answer(given, policy)
    assert found.values["evicted"] == len(found.values["evicted_subset_of"])
    return list(found.values["evicted_subset_of"])


def on_n2(**changes: Any) -> dict[str, Any]:
    """The case with n2 changed."""
    given = inputs()
    given["nodes"][1] = {**given["nodes"][1], **changes}
    return given


def with_pods(**changes: Any) -> dict[str, Any]:
    """The case with the small pod changed; without it the large one goes."""
    return inputs(pods=[pod("p1", "n1", 400), pod("p2", "n1", 200, **changes)])


@pytest.mark.parametrize(
    "changes",
    [
        {"mirror": True},
        {"static": True},
        {"terminating": True},
        {"owner_kind": None},
        {"owner_kind": "DaemonSet"},
        {"local_storage": True},
        {"priority": 2_000_000_000},
        {"priority": 1},  # not protected, but the one without priority goes before it
    ],
)
def test_who_is_protected_or_comes_later(changes: dict[str, Any]) -> None:
    assert evicted(with_pods(**changes)) == ["p1"]


def test_the_annotation_lifts_every_protection_but_the_namespace() -> None:
    kept = {"mirror": True, "priority": 2_000_000_000}
    for changes, why in (
        (kept, "mirror"),
        ({**kept, "evict_annotation": True}, ""),
        ({**kept, "evict_annotation": True, "namespace": "kept"}, "evictableNamespaces"),
    ):
        given = with_pods(**changes)
        given["args"]["evictable_namespaces_exclude"] = ["kept"]
        assert [row[3] for row in answer(given).rows] == ["", why]


HARD = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
SOFT = {"key": "gpu", "value": "yes", "effect": "PreferNoSchedule"}


@pytest.mark.parametrize(
    ("taint", "toleration", "goes"),
    [
        (HARD, None, False),
        (SOFT, None, False),  # any effect counts when a destination is looked for
        (HARD, {"key": "gpu", "operator": "Exists"}, True),
        (HARD, {"operator": "Exists"}, True),
        (HARD, {"key": "gpu", "value": "yes"}, True),
        (HARD, {"key": "gpu", "value": "no"}, False),
        (HARD, {"key": "gpu", "value": "yes", "effect": "NoExecute"}, False),
        (HARD, {"key": "gpu", "value": "yes", "operator": "Never"}, False),
        (HARD, {"key": "disk", "operator": "Exists"}, False),
    ],
)
def test_tolerations(taint: dict[str, str], toleration: dict[str, str] | None, goes: bool) -> None:
    given = on_n2(taints=[taint])
    given["pods"][1]["tolerations"] = [toleration] if toleration else []
    assert evicted(given) == (["p2"] if goes else [])


@pytest.mark.parametrize(
    ("rule", "goes"),
    [
        ({"operator": "In", "values": ["west", "east"]}, True),
        ({"operator": "In", "values": ["east"]}, False),
        ({"operator": "NotIn", "values": ["east"]}, True),
        ({"operator": "NotIn", "values": ["west"]}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "DoesNotExist"}, False),
        ({"key": "rack", "operator": "Gt", "values": ["6"]}, True),
        ({"key": "rack", "operator": "Gt", "values": ["7"]}, False),
        ({"key": "rack", "operator": "Lt", "values": ["8"]}, True),
        ({"key": "zone", "operator": "Lt", "values": ["8"]}, False),
        ({"key": "none", "operator": "Gt", "values": ["1"]}, False),
        ({"key": "none", "operator": "NotIn", "values": ["1"]}, True),
    ],
)
def test_node_affinity(rule: dict[str, Any], goes: bool) -> None:
    given = on_n2(labels={"zone": "west", "rack": "7"})
    for one in given["pods"]:
        one["required_node_affinity"] = [[{"key": "zone", **rule}]]
    assert evicted(given) == (["p2"] if goes else [])


@pytest.mark.parametrize(
    "changes",
    [
        {"unschedulable": True},
        {"allocatable": {"cpu_milli": 1000, "memory_bytes": 1000, "pods": 0}},
        {"allocatable": {"cpu_milli": 150, "memory_bytes": 1000, "pods": 10}},
        {"labels": {}, "taints": [HARD]},
    ],
)
def test_a_pod_stays_when_no_other_node_would_take_it(changes: dict[str, Any]) -> None:
    assert evicted(on_n2(**changes)) == []


def test_a_request_of_what_no_node_has_fits_nowhere() -> None:
    given = inputs()
    for one in given["pods"]:
        one["requests"]["example.com/gpu"] = 1
    assert evicted(given) == []
    given["evictor"] = {"node_fit": False}
    assert evicted(given) == ["p2"]


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (1, 1), (None, 2)])
def test_limits_of_the_evictor(limit: int | None, count: int) -> None:
    given = inputs(evictor={"node_fit": True, "max_pods_to_evict_per_node": limit})
    given["args"]["target_thresholds"] = {"cpu_milli": 21}
    given["nodes"][1]["allocatable"] = {"cpu_milli": 9000, "memory_bytes": 1000, "pods": 10}
    assert len(evicted(given)) == count


def metrics(**changes: Any) -> dict[str, Any]:
    given = inputs(**changes)
    given["args"]["usage_source"] = "metrics_server"
    return given


def test_a_pod_without_metrics_is_passed_over() -> None:
    nodes = {"n1": {"cpu_milli": 900, "memory_bytes": 1}, "n2": {"cpu_milli": 0}}
    of_pods = {"default/p1": {"cpu_milli": 450}}
    assert evicted(metrics(node_metrics=nodes, pod_metrics=of_pods)) == ["p1"]


def test_a_node_without_metrics_stops_it_all() -> None:
    found = answer(metrics(node_metrics={"n1": {"cpu_milli": 900}}))
    assert found.values["evicted"] == 0
    assert "'n2' has no metrics" in found.note


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
    found = answer(given)
    assert found.values["evicted"] == 0
    assert "expected 0..1" in found.note


def test_high_may_consider_only_pods_that_state_a_request_of_the_resource() -> None:
    args = {"thresholds": {"cpu_milli": 20}, "eviction_modes": ["OnlyThresholdingResources"]}
    pods = [pod("p1", "n1", 700), pod("p2", "n2", 0), pod("p3", "n2", requests={})]
    assert evicted(inputs(args=args, pods=pods), HIGH) == ["p2"]
    args["eviction_modes"] = []
    assert evicted(inputs(args=args, pods=pods), HIGH) == ["p2", "p3"]


def test_the_table_says_who_goes_when_and_who_is_protected() -> None:
    given = inputs()
    given["pods"][0]["mirror"] = True
    found = answer(given)
    assert found.rows == [["p1", "n1", None, "mirror"], ["p2", "n1", 1, ""]]
