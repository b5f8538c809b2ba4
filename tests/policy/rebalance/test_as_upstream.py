"""Clusters answered by the real descheduler, and what spares pods, setting by setting."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from descheduler_support import evicted_by, named, snapshot_of
from kubernetes_support import node, owned, pod
from tests_support import SHARED

#: 105 of 354 clusters made up and answered by sigs.k8s.io/descheduler @7d2b28bf, eight times each;
#: where all are at hand, all are compared.
CARRIED = Path(__file__).parents[2] / "golden" / "descheduler_clusters.jsonl.gz"
WHOLE = SHARED / "golden" / "real" / "descheduler.jsonl.gz"
#: Equal priority and quality of service: the real one takes any of them.
TIES = {"lnu_qos_ties-0231"}


def test_evicts_the_pods_that_the_real_one_does(tmp_path: Path) -> None:
    with gzip.open(WHOLE if WHOLE.is_file() else CARRIED, "rt") as lines:
        cases = [case for case in map(json.loads, lines) if case["name"] not in TIES]
    differ = []
    for case in cases:
        metrics = [case.get(name) for name in ("node_metrics", "pod_metrics")]
        seen = snapshot_of([*case["nodes"], *case["pods"]], metrics if all(metrics) else ())
        found = evicted_by(case["policy"], seen, named(case["pods"]), tmp_path)
        if _what(case, found) not in [_what(case, one) for one in case["real"]]:
            differ.append(case["name"])
    assert not differ


def _what(case: Mapping[str, Any], evicted: Sequence[str]) -> Any:
    """Whom a list evicts; of duplicates how many of each owner from each node.

    Which of them go, and whether a later plugin tries them again, the real one leaves to chance:
    of several plugins it is how many go in all.
    """
    if case["class"] == "pipeline":
        return len(set(evicted))
    if not case["class"].startswith("dup_"):
        return sorted(evicted)
    pods = dict(zip(named(case["pods"]), case["pods"], strict=True))
    return Counter(
        (pods[one]["spec"]["nodeName"], str(pods[one]["metadata"].get("ownerReferences")))
        for one in evicted
    )


OWNED = owned("ReplicaSet", "web-5d4b9c6f5d")
CREATED = "2026-01-02T00:00:00Z"
OLD = "2026-01-01T00:00:00Z"
NOTES = "descheduler.alpha.kubernetes.io"
#: A pod of each sort, by what is said of it.
SORTS: dict[str, dict[str, Any]] = {
    "plain": {"meta": {**OWNED, "labels": {"app": "web"}}},
    "bare": {"meta": {}},
    "twin": {"meta": owned("ReplicaSet", "pair-5d4b9c6f5d")},
    "empty": {"meta": OWNED, "volumes": [{"name": "v", "emptyDir": {}}]},
    "claim": {
        "meta": OWNED,
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
    },
    "critical": {"meta": OWNED, "priority": 2_000_000_000},
    "high": {"meta": OWNED, "priority": 100},
    "young": {"meta": {**OWNED, "creationTimestamp": CREATED}},
    "marked": {"meta": {"annotations": {f"{NOTES}/evict": "true"}}},
    "keeper": {"meta": {**OWNED, "annotations": {f"{NOTES}/prefer-no-eviction": "true"}}},
    "mirror": {"meta": {**OWNED, "annotations": {"kubernetes.io/config.mirror": "x"}}},
    "static": {"meta": {**OWNED, "annotations": {"kubernetes.io/config.source": "file"}}},
    "leaving": {"meta": {**OWNED, "deletionTimestamp": "2026-01-02T00:00:30Z"}},
    "other": {"meta": {**OWNED, "namespace": "kube-system"}},
}
USUAL = {"plain", "twin", "claim", "high", "young", "marked", "keeper", "other"}


@pytest.mark.parametrize(
    ("evictor", "more", "fewer"),
    [
        ({}, set(), set()),
        ({"evictLocalStoragePods": True}, {"empty"}, set()),
        ({"evictSystemCriticalPods": True}, {"critical"}, set()),
        ({"ignorePvcPods": True}, set(), {"claim"}),
        ({"podProtections": {"extraEnabled": ["PodsWithPVC"]}}, set(), {"claim"}),
        ({"podProtections": {"defaultDisabled": ["PodsWithLocalStorage"]}}, {"empty"}, set()),
        ({"priorityThreshold": {"value": 100}}, set(), {"high"}),
        ({"minReplicas": 2}, set(), {"twin", "other"}),
        ({"minPodAge": "1h"}, set(), {"young"}),
        ({"noEvictionPolicy": "Mandatory"}, set(), {"keeper"}),
        (
            {"labelSelector": {"matchLabels": {"app": "web"}}},
            set(),
            USUAL - {"plain", "marked"},
        ),
        ({"ignorePodsWithoutPDB": True}, set(), USUAL - {"marked"}),
    ],
)
def test_whom_the_evictor_lets_go(
    evictor: dict[str, Any], more: set[str], fewer: set[str], tmp_path: Path
) -> None:
    assert evicted({"maxPodLifeTimeSeconds": 0}, evictor, tmp_path) == (USUAL | more) - fewer


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ({"namespaces": {"include": ["kube-system"]}}, {"other"}),
        ({"namespaces": {"exclude": ["kube-system"]}}, USUAL - {"other"}),
        (
            {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}},
            {"plain"},
        ),
        ({"ownerKinds": {"exclude": ["ReplicaSet"]}}, {"marked"}),
        ({"maxPodLifeTimeSeconds": 3600}, USUAL - {"young"}),
        ({"states": ["Running"]}, USUAL),
        ({"states": ["Pending"]}, set()),
    ],
)
def test_whom_a_plugin_is_about(asked: dict[str, Any], left: set[str], tmp_path: Path) -> None:
    assert evicted({"maxPodLifeTimeSeconds": 0, **asked}, {}, tmp_path) == left


def evicted(args: dict[str, Any], evictor: dict[str, Any], folder: Path) -> set[str]:
    """Which of the sorts PodLifeTime evicts."""
    pods = [
        pod(name, meta={"creationTimestamp": OLD, **said["meta"]}, nodeName="n0",
            **{key: value for key, value in said.items() if key != "meta"})
        for name, said in SORTS.items()
    ]  # fmt: skip
    now = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-02T00:01:00Z"}
    nodes = [node(f"n{at}") for at in range(2)]
    nodes[0]["status"]["conditions"] = [now]
    found = evicted_by(
        policy("deschedule", "PodLifeTime", args, evictor),
        snapshot_of([*nodes, *pods]),
        named(pods),
        folder,
    )
    return {one.partition("/")[2] for one in found}


def policy(point: str, plugin: str, args: dict[str, Any], evictor: dict[str, Any]) -> Any:
    config = [{"name": plugin, "args": args}, {"name": "DefaultEvictor", "args": evictor}]
    return {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "profiles": [
            {"name": "p", "pluginConfig": config, "plugins": {point: {"enabled": [plugin]}}}
        ],
    }


TAINTS = [
    {"key": "gone", "effect": "NoSchedule"},
    {"key": "slow", "value": "disk", "effect": "PreferNoSchedule"},
]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({}, {"none"}),
        ({"includePreferNoSchedule": True}, {"none", "hard"}),
        ({"excludedTaints": ["gone"]}, set()),
        ({"includePreferNoSchedule": True, "includedTaints": ["slow=disk"]}, {"none", "hard"}),
    ],
)
def test_taints_that_are_minded(args: dict[str, Any], expected: set[str], tmp_path: Path) -> None:
    hard = {"key": "gone", "operator": "Exists"}
    bears = {"none": [], "hard": [hard], "both": [hard, {"key": "slow", "operator": "Exists"}]}
    pods = [pod(name, meta=OWNED, nodeName="n0", tolerations=some) for name, some in bears.items()]
    seen = snapshot_of([node("n0", taints=TAINTS), node("n1"), *pods])
    asked = policy("deschedule", "RemovePodsViolatingNodeTaints", args, {})
    found = evicted_by(asked, seen, named(pods), tmp_path)
    assert {one.partition("/")[2] for one in found} == expected


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["required"], ["must"]),
        (["preferred"], ["wish"]),
        (["required", "preferred"], ["must", "wish"]),
    ],
)
def test_node_affinity_that_is_minded(
    kinds: list[str], expected: list[str], tmp_path: Path
) -> None:
    ssd = [{"key": "disk", "operator": "In", "values": ["ssd"]}]
    after = "DuringSchedulingIgnoredDuringExecution"
    states: dict[str, Any] = {
        "must": {f"required{after}": {"nodeSelectorTerms": [{"matchExpressions": ssd}]}},
        "wish": {f"preferred{after}": [{"weight": 5, "preference": {"matchExpressions": ssd}}]},
        "none": {},
    }
    pods = [
        pod(name, meta=OWNED, nodeName="n0", affinity={"nodeAffinity": one})
        for name, one in states.items()
    ]
    seen = snapshot_of([node("n0"), node("n1", labels={"disk": "ssd"}), *pods])
    args = {"nodeAffinityType": [f"{kind}{after}" for kind in kinds]}
    asked = policy("deschedule", "RemovePodsViolatingNodeAffinity", args, {})
    found = evicted_by(asked, seen, named(pods), tmp_path)
    assert [one.partition("/")[2] for one in found] == expected
