"""The policies of score plugins of kube-scheduler and of scheduler-plugins, by their arguments.

Defaults are the plugins' own. Source: kubernetes v1.34 pkg/scheduler/apis/config, scheduler-plugins
903da7df apis/config/v1.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tracekit.base.arrays import IntArray
from tracekit.base.constants import HOSTNAME, ZONES
from tracekit.base.documents import Arguments, Fields, NoEffect, To, Whole
from tracekit.base.errors import TracekitError
from tracekit.policy.placement import PlacementPolicy, Scores, all_policies
from tracekit.policy.placement._extender import ExtenderPolicy
from tracekit.policy.profile import Part, tenths
from tracekit.policy.view.snapshot import Container, Snapshot

Pairs = tuple[tuple[str, int], ...]

#: The kind of domain of each topology label.
TOPOLOGY = {
    HOSTNAME: "node",
    **dict.fromkeys(ZONES, "zone"),
    "topology.kubernetes.io/rack": "rack",
}


def made(name: str, **values: Any) -> PlacementPolicy:
    """Return the registered policy of a name; parameters without a value have their defaults."""
    return all_policies()[name](**values)


def _made(name: str) -> Callable[..., PlacementPolicy]:
    return functools.partial(made, name)


class _Resource(Fields, frozen=True):
    name: str = ""
    weight: Whole = 1


class _UseAndScore(Fields, frozen=True):
    utilization: Whole = 0
    score: Whole = 0


_Resources = tuple[_Resource, ...]


class Ratio(Fields, frozen=True):
    """The arguments of RequestedToCapacityRatio in a scheduler's configuration."""

    shape: tuple[_UseAndScore, ...] = ()
    resources: _Resources = ()

    def policy(self, resources: _Resources = ()) -> PlacementPolicy:
        """Return ``requested_to_capacity_ratio``, over ``resources`` or, if empty, its own."""
        return made(
            "requested_to_capacity_ratio",
            resources=_weights(resources or self.resources),
            shape=tuple((one.utilization, one.score) for one in self.shape),
        )


class _Strategy(Fields, frozen=True):
    type: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] = "LeastAllocated"
    resources: _Resources = ()
    requested_to_capacity_ratio: Ratio = Ratio()


_STRATEGIES = {
    "LeastAllocated": "least_allocated",
    "MostAllocated": "most_allocated",
    "RequestedToCapacityRatio": "requested_to_capacity_ratio",
}


def _fit(strategy: _Strategy) -> PlacementPolicy:
    if strategy.type == "RequestedToCapacityRatio":
        return strategy.requested_to_capacity_ratio.policy(strategy.resources)
    return made(_STRATEGIES[strategy.type], resources=_weights(strategy.resources))


def _fit_written(policy: Any) -> dict[str, Any]:
    kind = next(one for one, name in _STRATEGIES.items() if name == policy.name())
    strategy: dict[str, Any] = {"type": kind, "resources": _written(policy.resources)}
    if kind == "RequestedToCapacityRatio":
        rows = [{"utilization": int(use), "score": int(score)} for use, score in policy.shape]
        strategy["requestedToCapacityRatio"] = {"shape": rows}
    return {"scoringStrategy": strategy}


class _Constraint(Fields, frozen=True):
    topology_key: str = ""
    max_skew: Whole = 1
    when_unsatisfiable: str = ""

    def __post_init__(self) -> None:
        if self.topology_key not in TOPOLOGY:
            labels = ", ".join(TOPOLOGY)
            raise ValueError(f"topologyKey is '{self.topology_key}', expected one of {labels}")
        if self.max_skew < 1:
            raise ValueError(f"maxSkew is {self.max_skew}, expected 1 or more")

    def remark(self) -> str:
        if self.when_unsatisfiable != "DoNotSchedule":
            return ""
        return "only scores here: DoNotSchedule closes nodes only where pods state it"


def _spread(own: str = "System", constraints: Sequence[_Constraint] = ()) -> PlacementPolicy:
    if own != "List" and not constraints:
        return made("pod_topology_spread")
    rows = tuple((TOPOLOGY[one.topology_key], one.max_skew) for one in constraints)
    return made("pod_topology_spread", every_domain=True, constraints=rows)


def _spread_written(policy: Any) -> dict[str, Any]:
    if not policy.every_domain:
        return {}
    label = {kind: key for key, kind in reversed(TOPOLOGY.items())}
    rows = [
        {"topologyKey": label[kind], "maxSkew": skew, "whenUnsatisfiable": "ScheduleAnyway"}
        for kind, skew in policy.constraints
    ]
    return {"defaultingType": "List", "defaultConstraints": rows}


class _Power(Fields, frozen=True):
    k0: float = 0.0
    k1: float = 0.0
    k2: float = 0.0


def _cpu_milli(requests: Mapping[str, str | float]) -> int:
    """CPU in millicores, from ``500m`` or a number of cores."""
    text = str(requests.get("cpu", 0 if requests else 1))
    try:
        return round(float(text.removesuffix("m")) * (1 if text.endswith("m") else 1000))
    except ValueError:
        raise TracekitError(
            f"defaultRequests.cpu is '{text}', expected CPU such as 500m or 2"
        ) from None


def _weights(rows: _Resources, default: Pairs = (("cpu", 1), ("memory", 1))) -> Pairs:
    """Resources with their weights; the default weight is 1."""
    return tuple((one.name, one.weight or 1) for one in rows) or default


def _written(pairs: Pairs) -> list[dict[str, Any]]:
    return [{"name": name, "weight": weight} for name, weight in pairs]


def _models(given: Mapping[str, _Power]) -> tuple[tuple[str, float, float, float], ...]:
    return tuple((node, one.k0, one.k1, one.k2) for node, one in given.items())


#: Sources of measurements, which a replay takes from the workload.
_SOURCE: dict[str, Any] = {"metricProvider": Any, "watcherAddress": Any}
_WEIGHTS = To(_Resources, "resources", _weights, _written, ())
_SPREAD = Arguments(_made("selector_spread"), Fields)
#: The policy of each score plugin, by the plugin's name.
SCORERS: Mapping[str, Arguments[PlacementPolicy, Fields]] = {
    "NodeResourcesFit": Arguments(
        _fit,
        Fields,
        _fit_written,
        scoringStrategy=To(_Strategy, "strategy", default=_Strategy()),
        ignoredResources=NoEffect,
        ignoredResourceGroups=NoEffect,
    ),
    "NodeResourcesBalancedAllocation": Arguments(
        _made("balanced_allocation"), Fields, resources=_WEIGHTS
    ),
    "PodTopologySpread": Arguments(
        _spread,
        Fields,
        _spread_written,
        defaultingType=To(str, "own"),
        defaultConstraints=To(tuple[_Constraint, ...], "constraints"),
    ),
    "SelectorSpread": _SPREAD,
    "DefaultPodTopologySpread": _SPREAD,
    "TargetLoadPacking": Arguments(
        _made("target_load_packing"),
        Fields,
        targetUtilization=To(Whole, "target_utilization", lambda use: use or 40, default=40),
        defaultRequests=To(
            dict[str, str | float],
            "default_requests_cpu_milli",
            _cpu_milli,
            lambda milli: {"cpu": f"{milli}m"},
            {},
        ),
        defaultRequestsMultiplier=To(float, "requests_multiplier", write=str, default=1.5),
        **_SOURCE,
    ),
    "LoadVariationRiskBalancing": Arguments(
        _made("load_variation_risk_balancing"),
        Fields,
        safeVarianceMargin=To(float, "safe_variance_margin", default=1.0),
        safeVarianceSensitivity=To(float, "safe_variance_sensitivity", default=1.0),
        **_SOURCE,
    ),
    "LowRiskOverCommitment": Arguments(
        _made("low_risk_overcommitment"),
        Fields,
        smoothingWindowSize=To(Whole, "smoothing_window_size", lambda size: size or 5, default=5),
        riskLimitWeights=To(
            dict[str, float],
            "risk_limit_weights",
            lambda given: tuple(({"cpu": 0.5, "memory": 0.5} | given).items()),
            dict,
            {},
        ),
        **_SOURCE,
    ),
    "Peaks": Arguments(
        functools.partial(made, "peaks", k0=0.0, k1=0.0, k2=0.0),
        Fields,
        nodePowerModel=To(
            dict[str, _Power],
            "node_power_model",
            _models,
            lambda rows: {node: {"k0": k0, "k1": k1, "k2": k2} for node, k0, k1, k2 in rows},
            {},
        ),
        **_SOURCE,
    ),
    "NodeResourcesAllocatable": Arguments(
        _made("node_resources_allocatable"),
        Fields,
        mode=To(Literal["Least", "Most"], "mode", default="Least"),
        resources=To(
            _Resources,
            "resources",
            lambda rows: _weights(rows, (("cpu", 1 << 20), ("memory", 1))),
            _written,
            (),
        ),
    ),
}

#: The score plugin of each policy, by the policy's name.
PLUGIN_OF = {
    **dict.fromkeys(_STRATEGIES.values(), "NodeResourcesFit"),
    "balanced_allocation": "NodeResourcesBalancedAllocation",
    "pod_topology_spread": "PodTopologySpread",
    "target_load_packing": "TargetLoadPacking",
    "load_variation_risk_balancing": "LoadVariationRiskBalancing",
    "low_risk_overcommitment": "LowRiskOverCommitment",
    "peaks": "Peaks",
    "node_resources_allocatable": "NodeResourcesAllocatable",
}

#: Score plugins that score all nodes alike, as no workload has the data that they read.
SILENT = {
    "TaintToleration": "taints with PreferNoSchedule",
    "NodeAffinity": "preferred node affinity",
    "InterPodAffinity": "preferred pod affinity",
    "ImageLocality": "images on nodes",
}


class Extender(Fields, frozen=True):
    """One entry of ``extenders`` in a scheduler's configuration; it is never called over HTTP."""

    url_prefix: str = ""
    prioritize_verb: str = ""
    filter_verb: str = ""
    weight: Whole | None = None
    preempt_verb: Any = None
    bind_verb: Any = None
    enable_https: Any = None
    enableHTTPS: Any = None  # noqa: N815 - so spelled
    tls_config: Any = None
    http_timeout: Any = None
    node_cache_capable: Any = None
    managed_resources: Any = None
    ignorable: Any = None

    def __post_init__(self) -> None:
        if self.prioritize_verb and not self.weight:
            raise ValueError(f"weight is '{self.weight or 0}', expected 1 or more")


@dataclass
class Translated:
    """A scheduler's configuration file, translated into the parts of a policy.

    Parameters
    ----------
    parts : list of Part
        The policies of the score plugins with their weights.
    percentage : int
        ``percentageOfNodesToScore``; 0: it depends on the number of nodes.
    scores : bool
        Whether any score plugin is enabled, even one that scores all nodes alike.
    lifted : set of str
        Labels of the workload's constraints that the file disables, such as ``selector``.
    preempts : bool
        Whether DefaultPreemption is enabled; it evicts only if the workload allows it.
    gang_wait_ms, gang_backoff_ms : int, optional
        Arguments of the plugin Coscheduling; None if it is not enabled.
    notes : list of str
        Differences from the real scheduler, a line each.
    lacks_extender : bool
        Whether the score or the filter of an extender is left out.
    """

    parts: list[Part] = field(default_factory=list)
    percentage: int = 0
    scores: bool = True
    lifted: set[str] = field(default_factory=set)
    preempts: bool = True
    gang_wait_ms: int | None = None
    gang_backoff_ms: int | None = None
    notes: list[str] = field(default_factory=list)
    lacks_extender: bool = False

    def add_extenders(self, rows: Iterable[Extender]) -> None:
        """Add for each extender the policy that its ``prioritizeVerb`` names, or a note."""
        for one in rows:
            url, verb, weight = one.url_prefix, one.prioritize_verb, one.weight or 1
            name = verb.strip("/").rpartition("/")[2].replace("-", "_")
            kind = all_policies().get(name)
            if kind is None or kind.batched or not kind.filtered:
                self.lacks_extender = True
                self.notes.append(
                    f"extender {url} is not called, and its score ('{verb}', weight {weight}) is"
                    " left out: the verb is the name of no policy"
                )
            else:
                part = Part(10.0 * weight, kind(), "tenths")
                if issubclass(kind, ExtenderPolicy):
                    part = Part(1.0, kind(builtin="none", weight=weight), "as_is")
                self.parts.append(part)
                self.scores = True
                scale = ", 0..10," if part.how == "tenths" else ""
                self.notes.append(
                    f"extender {url} is not called: policy {name}{scale} stands for it"
                )
            if one.filter_verb:
                self.lacks_extender = True
                self.notes.append(f"the filter of extender {url} ('{one.filter_verb}') is left out")


def host_scores(
    policy: PlacementPolicy, snapshot: Snapshot, container: Container, nodes: IntArray
) -> tuple[Scores, IntArray]:
    """Return each candidate's score as 0..100, and as whole 0..10, the scale of extenders."""
    scores = Part(1.0, policy).scores(snapshot, container, nodes)
    return scores, tenths(scores)
