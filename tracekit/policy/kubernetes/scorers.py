"""The policy here for each score plugin of kube-scheduler and of scheduler-plugins.

A function per plugin, named as it, makes a policy of the plugin's arguments; defaults are the
plugin's own. Source: kubernetes v1.34 pkg/scheduler/apis/config, scheduler-plugins 903da7df
apis/config/v1.
"""

from collections.abc import Callable
from typing import Any

from tracekit.base.constants import HOSTNAME, ZONES
from tracekit.base.documents.given import Given, milli
from tracekit.base.errors import TracekitError
from tracekit.policy.placement import PlacementPolicy, all_policies

Pairs = tuple[tuple[str, int], ...]

#: Labels of nodes that domains go by.
TOPOLOGY = {
    HOSTNAME: "node",
    **dict.fromkeys(ZONES, "zone"),
    "topology.kubernetes.io/rack": "rack",
}


def node_resources_fit(given: Given) -> PlacementPolicy:
    """Least or most allocated, or a shape over the requested share."""
    strategy = given.inside("scoringStrategy")
    kind = strategy.text("type", "LeastAllocated")
    resources = _weights(strategy, "resources")
    if kind == "RequestedToCapacityRatio":
        ratio = strategy.inside("requestedToCapacityRatio")
        shape = tuple(
            (one.whole("utilization", 0), one.whole("score", 0)) for one in ratio.rows("shape")
        )
        return made("requested_to_capacity_ratio", resources=resources, shape=shape)
    strategy.ignore("requestedToCapacityRatio")
    names = {"LeastAllocated": "least_allocated", "MostAllocated": "most_allocated"}
    if kind not in names:
        known = ", ".join((*names, "RequestedToCapacityRatio"))
        raise TracekitError(f"{strategy.where}.type is '{kind}', expected one of {known}")
    return made(names[kind], resources=resources)


def node_resources_balanced_allocation(given: Given) -> PlacementPolicy:
    """The evenness of requested shares."""
    return made("balanced_allocation", resources=_weights(given, "resources"))


def pod_topology_spread(given: Given) -> PlacementPolicy:
    """Spread of a service by the constraints of the configuration, or those of the system."""
    listed = list(given.rows("defaultConstraints"))
    own = given.text("defaultingType", "System") == "List" or bool(listed)
    if not own:
        return made("pod_topology_spread")
    found = []
    for one in listed:
        row = (_domain(one), one.whole("maxSkew", 1, least=1))
        if one.text("whenUnsatisfiable") == "DoNotSchedule":
            one.told.append(
                f"{one.where} is a wish here: DoNotSchedule closes nodes only where pods state it"
            )
        found.append(row)
    return made("pod_topology_spread", every_domain=True, constraints=tuple(found))


def _domain(constraint: Given) -> str:
    key = constraint.text("topologyKey")
    if key not in TOPOLOGY:
        known = ", ".join(TOPOLOGY)
        raise TracekitError(f"{constraint.where}.topologyKey is '{key}', expected one of {known}")
    return TOPOLOGY[key]


def selector_spread(given: Given) -> PlacementPolicy:  # noqa: ARG001
    """Spread of a service up to v1.22; it has no arguments."""
    return made("selector_spread")


def target_load_packing(given: Given) -> PlacementPolicy:
    """Packing up to a measured load."""
    _metrics(given)
    requests = given.inside("defaultRequests")
    target = given.whole("targetUtilization", 40)
    return made(
        "target_load_packing",
        target_utilization=target or 40,
        default_requests_cpu_milli=milli(requests, "cpu", 1000 if not requests.fields() else 0),
        requests_multiplier=given.number("defaultRequestsMultiplier", 1.5, least=0),
    )


def load_variation_risk_balancing(given: Given) -> PlacementPolicy:
    """Mean load and its deviation."""
    _metrics(given)
    return made(
        "load_variation_risk_balancing",
        safe_variance_margin=given.number("safeVarianceMargin", 1.0, least=0),
        safe_variance_sensitivity=given.number("safeVarianceSensitivity", 1.0, least=0),
    )


def low_risk_over_commitment(given: Given) -> PlacementPolicy:
    """Limits beyond what a node has, and the load that makes them dangerous."""
    _metrics(given)
    weights = {"cpu": 0.5, "memory": 0.5, **given.amounts("riskLimitWeights")}
    return made(
        "low_risk_overcommitment",
        smoothing_window_size=given.whole("smoothingWindowSize", 5) or 5,
        risk_limit_weights=tuple(weights.items()),
    )


def peaks(given: Given) -> PlacementPolicy:
    """Power models by node."""
    _metrics(given)
    models = given.inside("nodePowerModel")
    rows = tuple(
        (name, one.number("k0", 0.0), one.number("k1", 0.0), one.number("k2", 0.0))
        for name in models.fields()
        for one in [models.inside(name)]
    )
    return made("peaks", k0=0.0, k1=0.0, k2=0.0, node_power_model=rows)


def node_resources_allocatable(given: Given) -> PlacementPolicy:
    """Small or large nodes."""
    resources = _weights(given, "resources", default=(("cpu", 1 << 20), ("memory", 1)))
    return made("node_resources_allocatable", mode=given.text("mode", "Least"), resources=resources)


#: Score plugins that are here, by the name that configurations have.
SCORERS: dict[str, Callable[[Given], PlacementPolicy]] = {
    "NodeResourcesFit": node_resources_fit,
    "NodeResourcesBalancedAllocation": node_resources_balanced_allocation,
    "PodTopologySpread": pod_topology_spread,
    **dict.fromkeys(("SelectorSpread", "DefaultPodTopologySpread"), selector_spread),
    "TargetLoadPacking": target_load_packing,
    "LoadVariationRiskBalancing": load_variation_risk_balancing,
    "LowRiskOverCommitment": low_risk_over_commitment,
    "Peaks": peaks,
    "NodeResourcesAllocatable": node_resources_allocatable,
}

#: Score plugins that tell no nodes apart, because no workload carries what they look at.
SILENT = {
    "TaintToleration": "taints with PreferNoSchedule",
    "NodeAffinity": "preferred node affinity",
    "InterPodAffinity": "preferred pod affinity",
    "ImageLocality": "images on nodes",
}


def made(name: str, **values: Any) -> PlacementPolicy:
    """A built-in policy with these parameters."""
    return all_policies()[name](**values)


def _weights(given: Given, key: str, default: Pairs = (("cpu", 1), ("memory", 1))) -> Pairs:
    """Resources with weights; a weight that is not given is 1."""
    found = tuple((one.text("name"), one.whole("weight", 1) or 1) for one in given.rows(key))
    return found or default


def _metrics(given: Given) -> None:
    """Accepts the source of measurements and ignores it: measurements are the workload's."""
    given.ignore("metricProvider", "watcherAddress")
