"""The arguments of each plugin of the descheduler, and the rebalance policy made of them.

Source: types.go, defaults.go and validation.go of each, descheduler @7d2b28bf.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import UNSET

from tracekit.base.documents import Arguments, Fields, Narrows, NoEffect, To, Whole
from tracekit.base.errors import TracekitError
from tracekit.base.units import MS_PER_S
from tracekit.policy.rebalance import get_rebalancer
from tracekit.policy.rebalance._evictor import Names, Scoped, Texts
from tracekit.policy.rebalance._turn import Plugin


class _Metrics(Fields, frozen=True):
    metrics_server: bool = False
    source: str = ""
    prometheus: NoEffect = UNSET

    @property
    def usage_source(self) -> str:
        """The source of node use: ``requests`` or ``metrics_server``."""
        measured = self.metrics_server or self.source == "KubernetesMetrics"
        return "metrics_server" if measured else "requests"

    def remark(self) -> str:
        replaced = self.source and self.usage_source == "requests"
        return f"has source '{self.source}': requests count in its place" if replaced else ""


class _Limits(Fields, frozen=True):
    node: Whole | None = None


def _made(name: str, **values: Any) -> Plugin:
    kind = get_rebalancer(name)
    made = kind(**values)
    assert isinstance(made, Plugin)  # noqa: S101 - each of these is one
    return made


def _life(
    *, kinds: Names, phases: Texts, states: Texts, narrowed: object = None, **values: Any
) -> Plugin:
    if not (states or phases or values or narrowed):
        raise TracekitError("PodLifeTime limits nothing, expected maxPodLifeTimeSeconds or states")
    return _made(
        "pod_life_time",
        states=(*states, *phases),
        owner_kinds=kinds.include,
        not_owner_kinds=kinds.exclude,
        **values,
    )


def _life_written(policy: Any) -> dict[str, Any]:
    limit = None if policy.longest_ms is None else _seconds(policy.longest_ms)
    return {
        **({} if limit is None else {"maxPodLifeTimeSeconds": limit}),
        "states": list(policy.states),
        "includingInitContainers": policy.init_containers,
        "includingEphemeralContainers": policy.ephemeral_containers,
        "ownerKinds": {
            "include": list(policy.owner_kinds),
            "exclude": list(policy.not_owner_kinds),
        },
    }


def _taints(**values: Any) -> Plugin:
    if values.get("taints") and values.get("not_taints"):
        raise TracekitError(
            "RemovePodsViolatingNodeTaints has includedTaints and excludedTaints, expected one"
        )
    return _made("remove_pods_violating_node_taints", **values)


def _spread(constraints: Texts, include_soft: bool = False, **values: Any) -> Plugin:
    return _made(
        "remove_pods_violating_topology_spread_constraint",
        hard=not constraints or "DoNotSchedule" in constraints,
        soft="ScheduleAnyway" in constraints or include_soft,
        **values,
    )


def _spread_written(policy: Any) -> dict[str, Any]:
    constraints = ["DoNotSchedule"] * policy.hard + ["ScheduleAnyway"] * policy.soft
    return {"constraints": constraints, "topologyBalanceNodeFit": policy.balance_node_fit}


_Affinity = Literal[
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
]
_REQUIRED, _PREFERRED = get_args(_Affinity)


def _affinity(types: Texts) -> Plugin:
    return _made(
        "remove_pods_violating_node_affinity",
        required=_REQUIRED in types,
        preferred=_PREFERRED in types,
    )


def _affinity_written(policy: Any) -> dict[str, Any]:
    return {"nodeAffinityType": [_REQUIRED] * policy.required + [_PREFERRED] * policy.preferred}


_ONLY = "OnlyThresholdingResources"
_Unsatisfiable = Literal["DoNotSchedule", "ScheduleAnyway"]


def _ms(seconds: int) -> int:
    return MS_PER_S * seconds


def _seconds(ms: int) -> int:
    return ms // MS_PER_S


def _percent(name: str) -> To:
    return To(dict[str, float], name, lambda given: tuple(given.items()), dict, {})


def _words(name: str) -> To:
    return To(Texts, name, write=list)


def _arguments(
    build: str | Callable[..., Plugin], write: Any = None, **fields: Any
) -> Arguments[Plugin, Scoped]:
    made = functools.partial(_made, build) if isinstance(build, str) else build
    return Arguments(made, Scoped, write, **fields)


PLUGINS: Mapping[str, Arguments[Plugin, Scoped]] = {
    "LowNodeUtilization": _arguments(
        "low_node_utilization",
        thresholds=_percent("thresholds"),
        targetThresholds=_percent("target_thresholds"),
        useDeviationThresholds=To(bool, "use_deviation_thresholds"),
        numberOfNodes=To(Whole, "number_of_nodes"),
        metricsUtilization=To(
            _Metrics,
            "usage_source",
            lambda one: one.usage_source,
            lambda source: None if source == "requests" else {"source": "KubernetesMetrics"},
            _Metrics(),
        ),
        evictionLimits=To(
            _Limits,
            "eviction_limit_node",
            lambda one: one.node,
            lambda limit: None if limit is None else {"node": limit},
        ),
        evictionModes=NoEffect,
    ),
    "HighNodeUtilization": _arguments(
        "high_node_utilization",
        thresholds=_percent("thresholds"),
        numberOfNodes=To(Whole, "number_of_nodes"),
        evictionModes=To(
            Texts,
            "only_thresholding_resources",
            lambda modes: _ONLY in modes,
            lambda only: [_ONLY] if only else [],
        ),
    ),
    "RemoveDuplicates": _arguments(
        "remove_duplicates", excludeOwnerKinds=_words("not_owner_kinds")
    ),
    "PodLifeTime": _arguments(
        _life,
        _life_written,
        maxPodLifeTimeSeconds=To(Whole, "longest_ms", _ms),
        states=To(Texts, "states", default=()),
        podStatusPhases=To(Texts, "phases", default=()),
        ownerKinds=To(Names, "kinds", default=Names()),
        includingInitContainers=To(bool, "init_containers"),
        includingEphemeralContainers=To(bool, "ephemeral_containers"),
        conditions=To(Narrows, "narrowed"),
        exitCodes=To(Narrows, "narrowed"),
    ),
    "RemovePodsViolatingTopologySpreadConstraint": _arguments(
        _spread,
        _spread_written,
        constraints=To(tuple[_Unsatisfiable, ...], "constraints", default=()),
        includeSoftConstraints=To(bool, "include_soft"),
        topologyBalanceNodeFit=To(bool, "balance_node_fit", default=True),
    ),
    "RemoveFailedPods": _arguments(
        "remove_failed_pods",
        minPodLifetimeSeconds=To(Whole, "least_age_ms", _ms, _seconds, 3600),
        reasons=_words("reasons"),
        includingInitContainers=To(bool, "init_containers"),
        excludeOwnerKinds=_words("not_owner_kinds"),
        exitCodes=Narrows,
    ),
    "RemovePodsHavingTooManyRestarts": _arguments(
        "remove_pods_having_too_many_restarts",
        podRestartThreshold=To(
            Annotated[int, msgspec.Meta(ge=1)], "restarts", default=msgspec.NODEFAULT
        ),
        includingInitContainers=To(bool, "init_containers"),
        states=_words("states"),
    ),
    "RemovePodsViolatingNodeTaints": _arguments(
        _taints,
        includePreferNoSchedule=To(bool, "soft"),
        includedTaints=_words("taints"),
        excludedTaints=_words("not_taints"),
    ),
    "RemovePodsViolatingNodeAffinity": _arguments(
        _affinity,
        _affinity_written,
        nodeAffinityType=To(
            Annotated[tuple[_Affinity, ...], msgspec.Meta(min_length=1)],
            "types",
            default=msgspec.NODEFAULT,
        ),
    ),
    "RemovePodsViolatingInterPodAntiAffinity": _arguments(
        "remove_pods_violating_inter_pod_anti_affinity"
    ),
}
#: Plugins that balance; the others deschedule, and run first.
BALANCING = frozenset(
    {
        "LowNodeUtilization",
        "HighNodeUtilization",
        "RemoveDuplicates",
        "RemovePodsViolatingTopologySpreadConstraint",
    }
)
