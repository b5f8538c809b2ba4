"""Recorded cases of the small kinds, on branches that the documents at hand do not reach."""

from __future__ import annotations

from typing import Any

import pytest

from tracekit.policy.parse import get_policy
from tracekit.replay.cases import Question, all_kinds

TLP, LVRB, LROC = (
    f"trimaran_{name}"
    for name in (
        "target_load_packing",
        "load_variation_risk_balancing",
        "low_risk_overcommitment",
    )
)
ALLOCATABLE = "scheduler_plugins_node_resources_allocatable"


def answered(kind: str, inputs: dict[str, Any], policy: str = "first_fit") -> dict[str, Any]:
    question = Question(name="one", inputs=inputs, policy=lambda: get_policy(policy))
    return dict(all_kinds()[kind].answer(question).values)


def old(*ages: float | None) -> list[dict[str, Any]]:
    return [{"pod": f"p{at}", "age_s": age} for at, age in enumerate(ages)]


CLEANED = [
    (old(None, None), None, ["p0", "p1"]),  # all old: none is dropped
    (old(None, 60, 59), None, ["p2"]),
    (old(61), "new", ["new"]),
    (old(59, 1), "new", ["p0", "p1", "new"]),
    ([], None, []),
]


@pytest.mark.parametrize(("cache", "bound", "staying"), CLEANED)
def test_recent_pods(cache: list[dict[str, Any]], bound: str | None, staying: list[str]) -> None:
    inputs = {"cache": cache, "bind_now": bound}
    assert answered("recent_pod_cache_cleanup", inputs) == {"cache": staying}


SERVER = "KubernetesMetricsServer"
DEFAULTED = [
    (TLP, {"target_utilization": -3}, {"target_utilization": 40}, SERVER),
    (TLP, {"requests_multiplier": "2.5"}, {"requests_multiplier": 2.5}, SERVER),
    (TLP, {"default_requests_cpu_milli": 0}, {"default_requests_cpu_milli": 0}, SERVER),
    (LVRB, {"safe_variance_margin": -1}, {"safe_variance_margin": 1.0}, SERVER),
    (LVRB, {"safe_variance_sensitivity": 0}, {"safe_variance_sensitivity": 0.0}, SERVER),
    (LVRB, {"metric_provider": "Prometheus"}, {"safe_variance_margin": 1.0}, "Prometheus"),
    (LVRB, {"metric_provider": {"type": "SignalFx"}}, {}, "SignalFx"),
    (LROC, {"smoothing_window_size": 0}, {"smoothing_window_size": 5}, SERVER),
    (LROC, {"risk_limit_weights": {"cpu": 1.5}}, {"risk_limit_weights": {"cpu": 0.5}}, SERVER),
    (LROC, {"watcher_address": "http://localhost:2020"}, {"smoothing_window_size": 5}, ""),
]


@pytest.mark.parametrize(("policy", "args", "expected", "provider"), DEFAULTED)
def test_defaults(
    policy: str, args: dict[str, Any], expected: dict[str, Any], provider: str
) -> None:
    result = answered("defaults", {"args": args}, policy)["args"]
    assert result.items() >= {**expected, "metric_provider": provider}.items()
    assert "watcher_address" not in result


def one(**requests: int) -> dict[str, Any]:
    return {"requests": requests, "limits": {}}


def node(name: str, cpu: int) -> dict[str, Any]:
    return {"name": name, "allocatable": {"cpu_milli": cpu, "memory_bytes": 100}}


def test_a_sequence_fills_nodes_and_leaves_out_what_fits_nowhere() -> None:
    pods = [
        {"containers": [one(cpu_milli=cpu, memory_bytes=1)], "name": f"p{at}"}
        for at, cpu in enumerate((60, 60, 30, 100))
    ]
    inputs = {"nodes": [node("a", 100), node("b", 100)], "pods": pods}
    assert answered("placement_sequence", inputs) == {"nodes": ["a", "b", "a", None]}


def test_a_sequence_of_target_load_packing_counts_the_pods_before() -> None:
    measured = [{"type": "CPU", "operator": "Latest", "value": 20}]
    inputs = {
        "nodes": [node("a", 1000), node("b", 1000)],
        "metrics": {"window_end": 5000, "nodes": {"a": measured, "b": measured}},
        "pods": [{"containers": [{"requests": {}, "limits": {"cpu_milli": 200}}]}] * 3,
    }
    # 20 + 20 % is the target; the second would bring a to 60 %, and b to the target
    assert answered("placement_sequence", inputs, TLP) == {"nodes": ["a", "b", "a"]}


def test_old_overhead_counts_whole_cores_as_millicores() -> None:
    pod = {
        "containers": [one(cpu_milli=100, memory_bytes=10)],
        "overhead": {"cpu_milli": 1500},
    }
    inputs = {"nodes": [node("a", 1000)], "pod": pod, "args": {"max_score": 100}}
    # cpu 100 + 2 of 1000: 89; memory 10 of 100: 90
    assert answered("score", inputs, "k8s_least_requested_legacy") == {"scores": {"a": 89}}


def test_normalized_scores_show_what_they_were_before() -> None:
    inputs = {"nodes": [node("a", 100), node("b", 300)], "pod": {"containers": []}}
    question = Question(name="one", inputs=inputs, policy=lambda: get_policy(ALLOCATABLE))
    answer = all_kinds()["normalized_score"].answer(question)
    assert answer.values == {"scores": {"a": 100, "b": 0}}
    assert answer.columns == ["node", "score", "before", "filter"]
    # 299.9998 of millicores, cut toward zero: b's memory weighs a little less than its cpu
    assert [row[2] for row in answer.rows] == [-100, -299]


def test_peaks_charges_nothing_for_what_would_not_fit() -> None:
    full = [{"type": "CPU", "operator": "AVG", "value": 90}]
    inputs = {
        "args": {"node_power_model": {"a": {"k0": 1, "k1": 2, "k2": 0}, "b": {"k1": 1, "k2": 0.1}}},
        "nodes": [node("a", 1000), node("b", 1000), node("c", 5000)],
        "metrics": {"window_end": 0, "nodes": dict.fromkeys("abc", full)},
        "pod": {"containers": [one(cpu_milli=200)]},
    }
    assert answered("raw_score", inputs, "trimaran_peaks") == {"scores": {"a": 0, "b": 0, "c": 0}}
    inputs["pod"] = {"containers": [one(cpu_milli=100)]}
    scores = answered("raw_score", inputs, "trimaran_peaks")["scores"]
    # e^10 - e^9 = 13923.38, beyond 9223: overflows as upstream's conversion does
    assert scores == {"a": 0, "b": -(2**63), "c": 0}
