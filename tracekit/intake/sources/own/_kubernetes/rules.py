"""The rules of a pod's placement: selector, tolerations, rules among pods, ports."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tracekit.base.constants import ZONES
from tracekit.intake.sources.own._kubernetes.objects import CLAIM, Terms, reached
from tracekit.intake.sources.own._kubernetes.requests import is_sidecar
from tracekit.store.tables import PREFERRED

_RACK = "/rack"
#: A PodDisruptionBudget by its name, ``namespace/name``, with its spec.
Budget = tuple[str, Mapping[str, Any]]
_PREFERRED, _ANYWAY = "preferredDuringSchedulingIgnoredDuringExecution", "ScheduleAnyway"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
BUDGET = "PodDisruptionBudget"
_AMOUNTS = ("minAvailable", "maxUnavailable")
_AMONG = ("podAntiAffinity", "podAffinity")
_GROUP_LABELS = (
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    "pod-group.scheduling.sigs.k8s.io/name",
)
GROUP_ANNOTATIONS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")


#: Annotations that forbid to evict a pod or to remove a node, each with the value that forbids;
#: None: any value but ``false``.
EVICTION_BANS: Mapping[str, str | None] = {
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true",
    "karpenter.sh/do-not-disrupt": None,
    "karpenter.sh/do-not-evict": None,
    "descheduler.alpha.kubernetes.io/prefer-no-eviction": None,
}
#: Fields of a pod's spec that a replay obeys, and fields that decide neither where nor whether the
#: pod may run. Any other field is named in ``not_held``.
_HELD_FIELDS = frozenset((
    "affinity", "containers", "initContainers", "nodeName", "nodeSelector", "os", "overhead",
    "preemptionPolicy", "priority", "resources", "schedulingGroup", "tolerations",
    "topologySpreadConstraints", "volumes", "workloadRef",
))  # fmt: skip
IDLE_FIELDS = frozenset((
    "activeDeadlineSeconds", "automountServiceAccountToken", "dnsConfig", "dnsPolicy",
    "enableServiceLinks", "ephemeralContainers", "hostAliases", "hostIPC", "hostNetwork", "hostPID",
    "hostUsers", "hostname", "hostnameOverride", "imagePullSecrets", "priorityClassName",
    "readinessGates", "restartPolicy", "runtimeClassName", "securityContext", "serviceAccount",
    "serviceAccountName", "setHostnameAsFQDN", "shareProcessNamespace", "subdomain",
    "terminationGracePeriodSeconds",
))  # fmt: skip
_USUAL_SCHEDULER = "default-scheduler"
_OS, _SYSTEMS = "kubernetes.io/os", ("linux", "windows")


def gang(meta: Mapping[str, Any], spec: Mapping[str, Any]) -> str | None:
    """Return the group of a pod, ``namespace/group``, whose pods run all together or not at all.

    The group comes from ``schedulingGroup`` (Kubernetes 1.36), from ``workloadRef`` (1.35), or from
    a label or annotation of a gang scheduler. None if the pod has no group.
    """
    name = (spec.get("schedulingGroup") or {}).get("podGroupName")
    if not name and (of := spec.get("workloadRef")):
        parts = (of.get(one) for one in ("name", "podGroup", "podGroupReplicaKey"))
        name = "/".join(filter(None, parts))
    for member, keys in (("labels", _GROUP_LABELS), ("annotations", GROUP_ANNOTATIONS)):
        stated = meta.get(member) or {}
        name = name or next((stated[key] for key in keys if stated.get(key)), None)
    return f"{meta.get('namespace') or 'default'}/{name}" if name else None


def enough_of_group(spec: Mapping[str, Any]) -> int | None:
    """Return how many pods of a PodGroup must run together at least; None if it is not stated.

    A group whose policy is ``basic`` has 1.
    """
    policy = spec.get("schedulingPolicy") or spec.get("policy") or {}
    stated = spec.get("minMember") or (policy.get("gang") or {}).get("minCount")
    if isinstance(stated, int):
        return stated
    return 1 if "basic" in policy else None


def zone(labels: Mapping[str, str]) -> str | None:
    """Return the zone that a node's labels state; None if they state none."""
    return next((labels[key] for key in ZONES if key in labels), None)


def rack(labels: Mapping[str, str]) -> str | None:
    """Return the rack of a node, by a label whose name ends in ``/rack``; None without one."""
    return next((labels[key] for key in sorted(labels) if key.endswith(_RACK)), None)


def selector(spec: Mapping[str, Any], volumes: Sequence[Terms] = ()) -> str | None:
    """Return the requirements on a node's labels as a JSON list of alternatives; None if none.

    An alternative is a list of requirements. They come from nodeSelector, nodeAffinity, the
    operating system, and ``volumes``, the terms of the pod's volumes.
    """
    own = [
        {"key": key, "operator": "In", "values": [value]}
        for key, value in sorted((spec.get("nodeSelector") or {}).items())
    ]
    system = (spec.get("os") or {}).get("name")
    if system in _SYSTEMS:
        others = [one for one in _SYSTEMS if one != system]
        own.append({"key": _OS, "operator": "NotIn", "values": others})
    affinity = _required(spec, "nodeAffinity") or {}
    terms = [
        [
            _requirement(one, one.get("key"))
            # the only field, metadata.name, is a key for the name of a node
            for one in (*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ()))
        ]
        for term in affinity.get("nodeSelectorTerms") or ()
    ]
    if not own and not terms and not volumes:
        return None
    where = [
        [[_requirement(one, one.get("key")) for one in term] for term in some] for some in volumes
    ]
    return json.dumps(reached([[*own, *term] for term in terms] or [own], where))


def tolerations(spec: Mapping[str, Any]) -> str | None:
    """Return tolerations as JSON, with Kubernetes' defaults written out; None if there are none."""
    stated = [
        {
            "key": one.get("key", ""),
            "operator": one.get("operator", "Equal"),
            "value": one.get("value", ""),
            "effect": one.get("effect", ""),
        }
        for one in spec.get("tolerations") or ()
    ]
    return json.dumps(stated) if stated else None


def all_not_held(
    pod: Mapping[str, Any],
    budgets: Sequence[Budget],
    *,
    volumes_unknown: bool,
) -> list[str]:
    """Return the fields of a pod that the store does not hold, also preferences."""
    claims = [CLAIM] if volumes_unknown else []
    required = [*filter(None, [not_held(pod)]), *claims, *unread(budgets)]
    return [*required, *further_fields(pod["spec"]), *preferred(pod["spec"])]


def further_fields(spec: Mapping[str, Any]) -> list[str]:
    """Return the fields of a pod's spec that may affect placement and that a replay ignores.

    A scheduler other than ``default-scheduler`` gives ``schedulerName NAME``.
    """
    scheduler = spec.get("schedulerName") or _USUAL_SCHEDULER
    other = [f"schedulerName {scheduler}"] if scheduler != _USUAL_SCHEDULER else []
    obeyed = {*_HELD_FIELDS, *IDLE_FIELDS, "schedulerName"}
    return [*other, *sorted(name for name, value in spec.items() if value and name not in obeyed)]


def eviction_ban(meta: Mapping[str, Any]) -> str | None:
    """Return the annotation that forbids to evict a pod or to remove its node.

    None if the pod has no such annotation.
    """
    notes = meta.get("annotations") or {}
    return next(
        (
            key
            for key, value in EVICTION_BANS.items()
            if key in notes and (notes[key] == value if value else notes[key] != "false")
        ),
        None,
    )


def unread(budgets: Sequence[Budget]) -> list[str]:
    """Return the budgets whose amount cannot be read, as ``PodDisruptionBudget NAME``."""
    return [f"{BUDGET} {name}" for name, spec in budgets if not _amount(spec)]


def _amount(spec: Mapping[str, Any]) -> dict[str, Any] | None:
    """The amount of a budget as part of a rule; None for an amount that cannot be read."""
    stated = {name: spec[name] for name in _AMOUNTS if spec.get(name) is not None}
    if not stated:
        return {"minAvailable": "100%"}  # a budget that says neither allows no eviction
    sound = all(
        not isinstance(one, bool) and re.fullmatch(r"[0-9]{1,9}%?", str(one), re.ASCII)
        for one in stated.values()
    )
    return stated if sound else None


def among(pod: Mapping[str, Any], budgets: Sequence[Budget] = ()) -> str | None:
    """Return the required rules between a pod and other pods, as JSON; None if there are none.

    These are required affinity, anti-affinity and spread, ``preemptionPolicy`` Never, the
    annotation against eviction, and the PodDisruptionBudgets of the pod.
    """
    spec = pod["spec"]
    rules = [
        _term(kind, term)
        for kind in _AMONG
        for term in _required(spec, kind) or ()
        if not _elsewhere(term)
    ]
    labels = pod["metadata"].get("labels") or {}
    rules += [_spread(one, labels) for one in _unyielding(spec)]
    if spec.get("preemptionPolicy") == "Never":
        rules.append({"kind": "preemptionPolicy", "value": "Never"})
    if eviction_ban(pod["metadata"]):
        rules.append({"kind": "safe-to-evict", "value": "false"})
    for name, limit in budgets:
        amount = _amount(limit)
        if amount:
            rules.append({"kind": BUDGET, "name": name, **amount})
    return json.dumps(rules) if rules else None


def host_ports(spec: Mapping[str, Any]) -> str | None:
    """Return the host ports of a pod, as ``80/TCP,10.0.0.1:53/UDP``; None if it has none."""
    sidecars = (one for one in spec.get("initContainers") or () if is_sidecar(one))
    ports = {
        _port(port)
        for one in (*(spec.get("containers") or ()), *sidecars)
        for port in one.get("ports") or ()
        if port.get("hostPort")
    }
    return ",".join(sorted(ports)) or None


def not_held(pod: Mapping[str, Any]) -> str | None:
    """Return the kinds of required pod affinity that the store cannot hold; None if there are none.

    They choose namespaces by labels, and the store has no labels of namespaces.
    """
    spec = pod["spec"]
    kinds = [kind for kind in _AMONG if any(map(_elsewhere, _required(spec, kind) or ()))]
    return ", ".join(kinds) or None


def preferred(spec: Mapping[str, Any]) -> list[str]:
    """Return the kinds of preferences of a pod, as ``preferred podAffinity``.

    The store does not hold these preferences.
    """
    affinity = spec.get("affinity") or {}
    kinds = [
        kind for kind in ("nodeAffinity", *_AMONG) if (affinity.get(kind) or {}).get(_PREFERRED)
    ]
    spread = spec.get("topologySpreadConstraints") or ()
    if any(one.get("whenUnsatisfiable") == _ANYWAY for one in spread):
        kinds.append("topologySpreadConstraints")
    return [f"{PREFERRED} {kind}" for kind in kinds]


def preferred_nodes(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the preferred node affinity of a pod: weights with requirements on labels."""
    wishes = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_PREFERRED) or ()
    return [
        {
            "weight": one.get("weight", 0),
            "asks": [
                _requirement(wish, wish.get("key"))
                for wish in (one.get("preference") or {}).get("matchExpressions") or ()
            ],
        }
        for one in wishes
    ]


def soft_spread(spec: Mapping[str, Any], labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a pod's spread constraints with ``ScheduleAnyway``; ``labels`` are the pod's."""
    wishes = spec.get("topologySpreadConstraints") or ()
    return [_spread(one, labels) for one in wishes if one.get("whenUnsatisfiable") == _ANYWAY]


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether a selector selects these labels; an empty selector selects all labels."""
    for one in _selector(selector) or ():
        key, values = one["key"], one["values"]
        holds = {
            "In": labels.get(key) in values,
            "NotIn": labels.get(key) not in values,
            "Exists": key in labels,
            "DoesNotExist": key not in labels,
        }
        if not holds.get(str(one["operator"]), False):
            return False
    return True


def _term(kind: str, term: Mapping[str, Any]) -> dict[str, Any]:
    every = term.get("namespaceSelector") is not None
    spaces = ["*"] if every else sorted(term.get("namespaces") or ())
    return {
        "kind": kind,
        "topologyKey": term.get("topologyKey", ""),
        "selector": _selector(term.get("labelSelector")),
        **({"namespaces": spaces} if spaces else {}),
    }


def _elsewhere(term: Mapping[str, Any]) -> bool:
    """Whether a term chooses some namespaces by their labels."""
    chosen = term.get("namespaceSelector") or {}
    return bool(chosen.get("matchLabels") or chosen.get("matchExpressions"))


def _unyielding(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        one
        for one in spec.get("topologySpreadConstraints") or ()
        if one.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
    ]


def _spread(one: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """A constraint as a rule; ``matchLabelKeys`` require the labels of the pod itself."""
    selector = _selector(one.get("labelSelector"))
    if selector is not None:
        selector += [
            {"key": key, "operator": "In", "values": [labels[key]]}
            for key in one.get("matchLabelKeys") or ()
            if key in labels
        ]
    further = ("maxSkew", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy")
    return {
        "kind": "topologySpread",
        "topologyKey": one.get("topologyKey", ""),
        "selector": selector,
        **{name: one[name] for name in further if one.get(name) is not None},
    }


def _selector(chosen: Mapping[str, Any] | None) -> list[dict[str, Any]] | None:
    """A selector of labels as requirements; None, which selects no pod, stays None."""
    if chosen is None:
        return None
    exact = [
        {"key": key, "operator": "In", "values": [value]}
        for key, value in sorted((chosen.get("matchLabels") or {}).items())
    ]
    more = chosen.get("matchExpressions") or ()
    return [*exact, *(_requirement(one, one.get("key")) for one in more)]


def _port(port: Mapping[str, Any]) -> str:
    address = port.get("hostIP") or ""
    place = f"{address}:" if address not in ("", "0.0.0.0") else ""  # noqa: S104 - all addresses
    return f"{place}{int(port['hostPort'])}/{port.get('protocol') or 'TCP'}"


def _required(spec: Mapping[str, Any], kind: str) -> Any:
    return ((spec.get("affinity") or {}).get(kind) or {}).get(REQUIRED)


def _requirement(one: Mapping[str, Any], key: str | None) -> dict[str, Any]:
    return {"key": key, "operator": one.get("operator"), "values": one.get("values") or []}
