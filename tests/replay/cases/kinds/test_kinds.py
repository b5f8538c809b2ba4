"""Recorded cases of the small kinds, on branches that the documents at hand do not reach."""

from __future__ import annotations

from typing import Any

import pytest

from tracekit.base.errors import TracekitError
from tracekit.policy.parse import get_policy
from tracekit.replay.cases.case import Question
from tracekit.replay.cases.kinds import all_kinds

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


@pytest.mark.parametrize(("cache", "bound", "kept"), CLEANED)
def test_recent_pods(cache: list[dict[str, Any]], bound: str | None, kept: list[str]) -> None:
    inputs = {"cache": cache, "bind_now": bound}
    assert answered("recent_pod_cache_cleanup", inputs) == {"cache": kept}


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
    found = answered("defaults", {"args": args}, policy)["args"]
    assert found.items() >= {**expected, "metric_provider": provider}.items()
    assert "watcher_address" not in found


def test_allocatable_defaults() -> None:
    found = answered("defaults", {"args": {}}, ALLOCATABLE)["args"]
    assert found == {"mode": "Least", "resources": {"cpu": 1 << 20, "memory": 1}}


def one(**requests: int) -> dict[str, Any]:
    return {"requests": requests, "limits": {}}


EFFECTIVE = [
    ({"containers": [one(cpu_milli=1), one(cpu_milli=2)]}, 3),
    ({"containers": [one(cpu_milli=1)], "init_containers": [one(cpu_milli=5)]}, 5),
    # a sidecar is an init container like any other, neither added nor kept
    ({"containers": [one(cpu_milli=4)], "sidecars": [one(cpu_milli=3)]}, 4),
    ({"containers": [], "overhead": {"cpu_milli": 7}}, 7),
]


@pytest.mark.parametrize(("pod", "cpu"), EFFECTIVE)
def test_pod_effective_resource(pod: dict[str, Any], cpu: int) -> None:
    found = answered("pod_effective_resource", {"pod": pod, "which": "requests"})
    assert found == {"cpu_milli": cpu, "memory_bytes": 0}


BETAS = [
    ("beta_new", {"alpha": 0, "beta": 1}, {"valid": False}),
    ("beta_match_moments", {"m1": 0.5, "m2": 0.3}, {"ok": True, "alpha": 2.0, "beta": 2.0}),
    ("beta_match_moments", {"m1": 0.5, "m2": 0.5}, {"ok": False}),  # the variance is the largest
    ("beta_match_moments", {"m1": 1.5, "m2": 0.5}, {"ok": False}),
    ("beta_pdf", {"alpha": -1, "beta": 1, "x": 0.5}, {"value": 0.0}),
    ("beta_pdf", {"alpha": 2, "beta": 2, "x": 1.5}, {"value": 0.0}),
    ("beta_pdf", {"alpha": 1, "beta": 1, "x": 0.0}, {"value": 1.0}),
    ("beta_cdf", {"alpha": 2, "beta": 2, "x": 0.5}, {"value": 0.5}),
    ("beta_cdf", {"alpha": 2, "beta": 2, "x": 1.5}, {"value": 0.0}),
    ("max_variance", {"m1": 1}, {"value": 0.0}),
    (
        "beta_summary",
        {"alpha": 1, "beta": 1},
        {"mean": 0.5, "variance": 1 / 12, "m1": 0.5, "m2": 1 / 3, "m3": 0.25},
    ),
]


@pytest.mark.parametrize(("kind", "inputs", "expected"), BETAS)
def test_beta(kind: str, inputs: dict[str, Any], expected: dict[str, Any]) -> None:
    assert answered(kind, inputs) == pytest.approx(expected)


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


def test_an_empty_list_of_metrics_is_not_an_unknown_node_to_low_risk() -> None:
    pod = {"containers": [{"requests": {"cpu_milli": 100}, "limits": {"cpu_milli": 300}}]}
    inputs = {
        "nodes": [node("empty", 200), node("unknown", 200)],
        "metrics": {"window_end": 0, "nodes": {"empty": []}},
        "pod": pod,
    }
    # limits promise 300 of 200 over requests of 100: risk (300-200)/(300-100) by half
    assert answered("score", inputs, LROC) == {"scores": {"empty": 75, "unknown": 0}}


def test_old_overhead_counts_whole_cores_as_millicores() -> None:
    pod = {
        "containers": [one(cpu_milli=100, memory_bytes=10)],
        "overhead": {"cpu_milli": 1500},
    }
    inputs = {"nodes": [node("a", 1000)], "pod": pod, "args": {"max_score": 100}}
    # cpu 100 + 2 of 1000: 89; memory 10 of 100: 90
    assert answered("score", inputs, "k8s_least_requested_legacy") == {"scores": {"a": 89}}


def test_volumes_count_where_a_node_limits_them() -> None:
    inputs = {
        "nodes": [{**node("a", 100), "allocatable_volumes": 4}, node("b", 100)],
        "pod": {"containers": [one(cpu_milli=50, memory_bytes=20)]},
        "requested_volumes": 2,
        "args": {"max_score": 100, "include_volumes": True},
    }
    # a: variance of .5, .2, .5 is .02; b: distance .3
    assert answered("score", inputs, "k8s_balanced_allocation_legacy") == {
        "scores": {"a": 98, "b": 70}
    }
    inputs["args"] = {"max_score": 100, "include_volumes": False}
    assert answered("score", inputs, "k8s_balanced_allocation_legacy") == {
        "scores": {"a": 70, "b": 70}
    }


def test_an_old_balance_of_another_scale_is_refused() -> None:
    with pytest.raises(TracekitError, match="max_score"):
        answered("score", {"args": {"max_score": 50}}, "k8s_balanced_allocation_legacy")


def test_a_kind_of_another_policy_is_refused() -> None:
    with pytest.raises(TypeError, match="first_fit"):
        answered("power_model_lookup", {"node": "a"})
    with pytest.raises(TypeError, match="first_fit"):
        answered("compute_risk", {"resource": "cpu"})


def test_normalized_scores_show_what_they_were_before() -> None:
    inputs = {"nodes": [node("a", 100), node("b", 300)], "pod": {"containers": []}}
    question = Question(name="one", inputs=inputs, policy=lambda: get_policy(ALLOCATABLE))
    answer = all_kinds()["normalized_score"].answer(question)
    assert answer.values == {"scores": {"a": 100, "b": 0}}
    assert answer.columns == ["node", "score", "before", "filter"]
    # 299.9998 of millicores, cut toward zero: b's memory weighs a little less than its cpu
    assert [row[2] for row in answer.rows] == [-100, -299]


@pytest.mark.parametrize(("time_s", "score"), [(939, 100), (940, 100), (941, 33), (1001, 33)])
def test_a_pod_bound_within_a_minute_of_the_windows_end_counts(time_s: int, score: int) -> None:
    bound = {"containers": [{"requests": {}, "limits": {"cpu_milli": 100}}]}
    inputs = {
        "nodes": [node("a", 1000)],
        "metrics": {
            "window_end": 1000,
            "nodes": {"a": [{"type": "CPU", "operator": "AVG", "value": 40}]},
        },
        "recent_pods": {"a": [{"timestamp": time_s, "pod": bound}]},
        "pod": {"containers": []},
    }
    # 40 % is the target; with the recent pod 50 %: 40 * 50 / 60
    assert answered("score", inputs, TLP) == {"scores": {"a": score}}


def test_no_capacity_has_neither_mean_nor_deviation() -> None:
    stats = {"capacity": 0, "req": 10, "used_avg": 40, "used_stdev": 36}
    assert answered("mu_sigma", {"stats": stats}) == {"mu": 0.0, "sigma": 0.0}


def test_a_falling_line_is_cut_toward_zero() -> None:
    inputs = {"points": [[0, 10], [3, 0]], "p": [1, 2]}
    assert answered("broken_linear", inputs) == {"values": [7, 4]}
    assert answered("broken_linear", {"points": [[5, 3]], "p": [0, 9]}) == {"values": [3, 3]}


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
