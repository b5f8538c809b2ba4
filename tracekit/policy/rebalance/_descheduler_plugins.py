"""The arguments of each plugin of the descheduler as the rebalancer that it is here.

Source: types.go, defaults.go and validation.go of each, descheduler @7d2b28bf.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tracekit.base.documents.given import Given
from tracekit.base.errors import TracekitError
from tracekit.base.units import MS_PER_S
from tracekit.policy.rebalance import get_rebalancer
from tracekit.policy.rebalance._turn import Plugin, words

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_AFFINITIES = (_REQUIRED, _PREFERRED)
_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")


def _low(given: Given) -> Plugin:
    metrics = given.inside("metricsUtilization")
    source = metrics.text("source")
    measured = metrics.flag("metricsServer") or source == "KubernetesMetrics"
    metrics.without_effect("prometheus")
    if source and not measured:
        metrics.told.append(f"{metrics.where}.source is '{source}': requests count in its place")
    limits = given.inside("evictionLimits")
    given.without_effect("evictionModes")
    return _made(
        "low_node_utilization",
        thresholds=_percent(given, "thresholds"),
        target_thresholds=_percent(given, "targetThresholds"),
        use_deviation_thresholds=given.flag("useDeviationThresholds"),
        number_of_nodes=given.whole("numberOfNodes", 0),
        usage_source="metrics_server" if measured else "requests",
        eviction_limit_node=limits.whole("node", 0) if "node" in limits else None,
    )


def _high(given: Given) -> Plugin:
    modes = given.names("evictionModes")
    return _made(
        "high_node_utilization",
        thresholds=_percent(given, "thresholds"),
        number_of_nodes=given.whole("numberOfNodes", 0),
        only_thresholding_resources="OnlyThresholdingResources" in modes,
    )


def _duplicates(given: Given) -> Plugin:
    return _made("remove_duplicates", not_owner_kinds=words(given.names("excludeOwnerKinds")))


def _life(given: Given) -> Plugin:
    kinds = given.inside("ownerKinds")
    states = [*given.names("states"), *given.names("podStatusPhases")]
    limited = "maxPodLifeTimeSeconds" in given
    seconds = given.whole("maxPodLifeTimeSeconds", 0)
    given.narrows("conditions", "exitCodes")
    if not (limited or states or "conditions" in given or "exitCodes" in given):
        raise TracekitError(
            f"{given.where or 'PodLifeTime'} asks for nothing",
            hint="give maxPodLifeTimeSeconds or states",
        )
    return _made(
        "pod_life_time",
        longest_ms=MS_PER_S * seconds if limited else None,
        states=words(states),
        init_containers=given.flag("includingInitContainers"),
        ephemeral_containers=given.flag("includingEphemeralContainers"),
        owner_kinds=words(kinds.names("include")),
        not_owner_kinds=words(kinds.names("exclude")),
    )


def _spread(given: Given) -> Plugin:
    asked = given.names("constraints") or ["DoNotSchedule"]
    _check(given, "constraints", asked, _UNSATISFIABLE)
    return _made(
        "remove_pods_violating_topology_spread_constraint",
        hard="DoNotSchedule" in asked,
        soft="ScheduleAnyway" in asked or given.flag("includeSoftConstraints"),
        balance_node_fit=given.flag("topologyBalanceNodeFit", default=True),
    )


def _failed(given: Given) -> Plugin:
    given.narrows("exitCodes")
    return _made(
        "remove_failed_pods",
        least_age_ms=MS_PER_S * given.whole("minPodLifetimeSeconds", 3600),
        reasons=words(given.names("reasons")),
        init_containers=given.flag("includingInitContainers"),
        not_owner_kinds=words(given.names("excludeOwnerKinds")),
    )


def _restarts(given: Given) -> Plugin:
    if "podRestartThreshold" not in given:
        raise TracekitError(
            f"{given.where}.podRestartThreshold is missing", hint="100, for example"
        )
    return _made(
        "remove_pods_having_too_many_restarts",
        restarts=given.whole("podRestartThreshold", 1, least=1),
        init_containers=given.flag("includingInitContainers"),
        states=words(given.names("states")),
    )


def _taints(given: Given) -> Plugin:
    minded, passed = given.names("includedTaints"), given.names("excludedTaints")
    if minded and passed:
        raise TracekitError(
            f"{given.where} has includedTaints and excludedTaints",
            hint="only one of both can be set",
        )
    return _made(
        "remove_pods_violating_node_taints",
        soft=given.flag("includePreferNoSchedule"),
        taints=words(minded),
        not_taints=words(passed),
    )


def _affinity(given: Given) -> Plugin:
    asked = given.names("nodeAffinityType")
    if not asked:
        raise TracekitError(f"{given.where}.nodeAffinityType is missing", hint=_REQUIRED)
    _check(given, "nodeAffinityType", asked, _AFFINITIES)
    return _made(
        "remove_pods_violating_node_affinity",
        required=_REQUIRED in asked,
        preferred=_PREFERRED in asked,
    )


def _apart(given: Given) -> Plugin:  # noqa: ARG001 - it has no arguments of its own
    return _made("remove_pods_violating_inter_pod_anti_affinity")


PLUGINS: Mapping[str, Callable[[Given], Plugin]] = {
    "LowNodeUtilization": _low,
    "HighNodeUtilization": _high,
    "RemoveDuplicates": _duplicates,
    "PodLifeTime": _life,
    "RemovePodsViolatingTopologySpreadConstraint": _spread,
    "RemoveFailedPods": _failed,
    "RemovePodsHavingTooManyRestarts": _restarts,
    "RemovePodsViolatingNodeTaints": _taints,
    "RemovePodsViolatingNodeAffinity": _affinity,
    "RemovePodsViolatingInterPodAntiAffinity": _apart,
}
#: Those that balance; the others deschedule, and come first.
BALANCING = frozenset(
    {
        "LowNodeUtilization",
        "HighNodeUtilization",
        "RemoveDuplicates",
        "RemovePodsViolatingTopologySpreadConstraint",
    }
)
#: Where v1alpha1 keeps the arguments of a strategy.
INNER = {
    "LowNodeUtilization": "nodeResourceUtilizationThresholds",
    "HighNodeUtilization": "nodeResourceUtilizationThresholds",
    "PodLifeTime": "podLifeTime",
    "RemoveDuplicates": "removeDuplicates",
    "RemoveFailedPods": "failedPods",
    "RemovePodsHavingTooManyRestarts": "podsHavingTooManyRestarts",
}


def _check(given: Given, key: str, asked: list[str], known: tuple[str, ...]) -> None:
    for one in asked:
        if one not in known:
            raise Given.wrong(f"{given.where}.{key}", one, " or ".join(known))


def _percent(given: Given, key: str) -> tuple[tuple[str, float], ...]:
    return tuple(given.amounts(key).items())


def _made(name: str, **values: Any) -> Plugin:
    kind = get_rebalancer(name)
    made = kind(**values)
    assert isinstance(made, Plugin)  # noqa: S101 - each of these is one
    return made
