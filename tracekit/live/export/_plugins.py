"""Policies as plugins of kube-scheduler, and rebalancers as plugins of the descheduler.

What is written here is read again by ``policy.kubernetes.scorers`` and
``rebalance._descheduler_plugins``: a parameter that then differs is one that the file cannot carry.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tracekit.base.documents.fields import decode
from tracekit.base.facts import Fact
from tracekit.live.export._format import left_out
from tracekit.policy.kubernetes.scorers import SCORERS, TOPOLOGY
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.policy.rebalance._descheduler_plugins import PLUGINS

Arguments = dict[str, Any]
#: A plugin's name, and its arguments of a policy.
Plugin = tuple[str, Callable[[Any], Arguments]]


def _weights(pairs: Iterable[tuple[str, float]]) -> list[Arguments]:
    return [{"name": name, "weight": weight} for name, weight in pairs]


def _fit(kind: str) -> Callable[[Any], Arguments]:
    return lambda p: {"scoringStrategy": {"type": kind, "resources": _weights(p.resources)}}


def _ratio(p: Any) -> Arguments:
    shape = [{"utilization": int(use), "score": int(score)} for use, score in p.shape]
    return {
        "scoringStrategy": {
            **_fit("RequestedToCapacityRatio")(p)["scoringStrategy"],
            "requestedToCapacityRatio": {"shape": shape},
        }
    }


def _spread(p: Any) -> Arguments:
    if not p.every_domain:
        return {}
    rows = [
        {"topologyKey": _DOMAINS[kind], "maxSkew": skew, "whenUnsatisfiable": "ScheduleAnyway"}
        for kind, skew in p.constraints
    ]
    return {"defaultingType": "List", "defaultConstraints": rows}


_DOMAINS = {kind: label for label, kind in reversed(TOPOLOGY.items())}
#: By the name of a policy.
SCORING: Mapping[str, Plugin] = {
    "least_allocated": ("NodeResourcesFit", _fit("LeastAllocated")),
    "most_allocated": ("NodeResourcesFit", _fit("MostAllocated")),
    "requested_to_capacity_ratio": ("NodeResourcesFit", _ratio),
    "balanced_allocation": (
        "NodeResourcesBalancedAllocation",
        lambda p: {"resources": _weights(p.resources)},
    ),
    "pod_topology_spread": ("PodTopologySpread", _spread),
    "target_load_packing": (
        "TargetLoadPacking",
        lambda p: {
            "targetUtilization": p.target_utilization,
            "defaultRequests": {"cpu": f"{p.default_requests_cpu_milli}m"},
            "defaultRequestsMultiplier": str(p.requests_multiplier),
        },
    ),
    "load_variation_risk_balancing": (
        "LoadVariationRiskBalancing",
        lambda p: {
            "safeVarianceMargin": p.safe_variance_margin,
            "safeVarianceSensitivity": p.safe_variance_sensitivity,
        },
    ),
    "low_risk_overcommitment": (
        "LowRiskOverCommitment",
        lambda p: {
            "smoothingWindowSize": p.smoothing_window_size,
            "riskLimitWeights": dict(p.risk_limit_weights),
        },
    ),
    "peaks": (
        "Peaks",
        lambda p: {
            "nodePowerModel": {
                name: {"k0": k0, "k1": k1, "k2": k2} for name, k0, k1, k2 in p.node_power_model
            }
        },
    ),
    "node_resources_allocatable": (
        "NodeResourcesAllocatable",
        lambda p: {"mode": p.mode, "resources": _weights(p.resources)},
    ),
}


def _low(p: Any) -> Arguments:
    measured = {"metricsUtilization": {"source": "KubernetesMetrics"}}
    limit = {"evictionLimits": {"node": p.eviction_limit_node}}
    return {
        "thresholds": dict(p.thresholds),
        "targetThresholds": dict(p.target_thresholds),
        "useDeviationThresholds": p.use_deviation_thresholds,
        "numberOfNodes": p.number_of_nodes,
        **(measured if p.usage_source == "metrics_server" else {}),
        **(limit if p.eviction_limit_node is not None else {}),
    }


def _high(p: Any) -> Arguments:
    modes = ["OnlyThresholdingResources"] if p.only_thresholding_resources else []
    return {
        "thresholds": dict(p.thresholds),
        "numberOfNodes": p.number_of_nodes,
        "evictionModes": modes,
    }


def _life(p: Any) -> Arguments:
    limit = {} if p.longest_ms is None else {"maxPodLifeTimeSeconds": p.longest_ms // 1000}
    return {
        **limit,
        "states": _words(p.states),
        "includingInitContainers": p.init_containers,
        "includingEphemeralContainers": p.ephemeral_containers,
        "ownerKinds": {"include": _words(p.owner_kinds), "exclude": _words(p.not_owner_kinds)},
    }


def _words(some: Iterable[tuple[str]]) -> list[str]:
    return [word for (word,) in some]


#: By the name of a rebalancer.
MOVING: Mapping[str, Plugin] = {
    "low_node_utilization": ("LowNodeUtilization", _low),
    "high_node_utilization": ("HighNodeUtilization", _high),
    "remove_duplicates": (
        "RemoveDuplicates",
        lambda p: {"excludeOwnerKinds": _words(p.not_owner_kinds)},
    ),
    "pod_life_time": ("PodLifeTime", _life),
    "remove_pods_violating_topology_spread_constraint": (
        "RemovePodsViolatingTopologySpreadConstraint",
        lambda p: {
            "constraints": ["DoNotSchedule"] * p.hard + ["ScheduleAnyway"] * p.soft,
            "topologyBalanceNodeFit": p.balance_node_fit,
        },
    ),
    "remove_failed_pods": (
        "RemoveFailedPods",
        lambda p: {
            "minPodLifetimeSeconds": p.least_age_ms // 1000,
            "reasons": _words(p.reasons),
            "includingInitContainers": p.init_containers,
            "excludeOwnerKinds": _words(p.not_owner_kinds),
        },
    ),
    "remove_pods_having_too_many_restarts": (
        "RemovePodsHavingTooManyRestarts",
        lambda p: {
            "podRestartThreshold": p.restarts,
            "includingInitContainers": p.init_containers,
            "states": _words(p.states),
        },
    ),
    "remove_pods_violating_node_taints": (
        "RemovePodsViolatingNodeTaints",
        lambda p: {
            "includePreferNoSchedule": p.soft,
            "includedTaints": _words(p.taints),
            "excludedTaints": _words(p.not_taints),
        },
    ),
    "remove_pods_violating_node_affinity": (
        "RemovePodsViolatingNodeAffinity",
        lambda p: {
            "nodeAffinityType": [f"requiredDuringScheduling{_EXECUTION}"] * p.required
            + [f"preferredDuringScheduling{_EXECUTION}"] * p.preferred
        },
    ),
    "remove_pods_violating_inter_pod_anti_affinity": (
        "RemovePodsViolatingInterPodAntiAffinity",
        lambda _: {},
    ),
}
_EXECUTION = "IgnoredDuringExecution"


def not_carried(
    policy: PlacementPolicy | RebalancePolicy, name: str, args: Arguments, but: Iterable[str] = ()
) -> Iterator[Fact]:
    """A fact for each parameter that a plugin of these arguments has otherwise.

    Parameters
    ----------
    but : names of parameters that stand elsewhere in the file
    """
    read: Any = {**SCORERS, **PLUGINS}[name]
    there = dict(read.built(decode(args, read.kind, name)).spelled())
    for parameter, value in policy.spelled().items():
        if parameter not in but and there.get(parameter) != value:
            yield left_out("parameter", name=f"{policy.name()}.{parameter}", given=value)
