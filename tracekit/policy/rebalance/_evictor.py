"""``DefaultEvictor`` and the pods that a plugin is about: settings, and how a document says them.

Source: descheduler @7d2b28bf framework/plugins/defaultevictor/types.go, and v1alpha1 of 0.26.
"""

import re
from dataclasses import dataclass

import numpy as np

from tracekit.base.documents.given import Given
from tracekit.base.errors import TracekitError
from tracekit.base.units import MS_PER_HOUR, MS_PER_MINUTE, MS_PER_S
from tracekit.cluster.constraints.labels import Requirement
from tracekit.policy.view.pods import PodText

#: From this priority on a pod is critical to the system.
CRITICAL = 2_000_000_000
#: What the evictor spares unless it is told otherwise.
PROTECTED = frozenset(
    {"PodsWithLocalStorage", "DaemonSetPods", "SystemCriticalPods", "FailedBarePods"}
)
#: What spares a pod whatever the settings, but for the annotation that lets it go.
_NEVER = frozenset({"mirror", "static", "terminating"})
#: Marks of pods by the protection that spares those with the mark.
_BY_MARK = {
    "PodsWithLocalStorage": "local",
    "PodsWithPVC": "claim",
    "PodsWithResourceClaims": "resource_claims",
}


@dataclass(frozen=True, kw_only=True)
class Evictor:
    """Settings of ``DefaultEvictor``.

    Parameters
    ----------
    node_fit : bool
        Whether a pod must fit some other node.
    below : float
        Pods of this priority or a higher one stay, while critical pods are protected.
    protects : frozenset of str
    labels : tuple of Requirement
        What labels of pods must meet.
    least_replicas : int
        Pods whose owner has fewer stay.
    least_age_ms : int
    keeps_marked : bool
        Whether the annotation that prefers no eviction is obeyed.
    nodes : tuple of Requirement
        The nodes that a pod may fit.
    """

    node_fit: bool = False
    below: float = np.inf
    protects: frozenset[str] = PROTECTED
    labels: tuple[Requirement, ...] = ()
    least_replicas: int = 0
    least_age_ms: int = -1
    keeps_marked: bool = False
    nodes: tuple[Requirement, ...] = ()

    def spares(self, pod: PodText) -> str:
        """Why a pod stays by what is written of it; empty for one that may go."""
        if "evict" in pod.marks:
            return ""
        critical = pod.priority >= min(CRITICAL, self.below)
        daemon = any(kind == "DaemonSet" for kind, _ in pod.owners)
        spared = {
            **{name: mark in pod.marks for name, mark in _BY_MARK.items()},
            "SystemCriticalPods": critical,
            "DaemonSetPods": daemon,
            "PodsWithoutPDB": "budget" not in pod.marks,
        }
        bare = not pod.owners and ("FailedBarePods" in self.protects or pod.phase != "Failed")
        reasons = [
            *sorted(pod.marks & _NEVER),
            *(["preferNoEviction"] if self.keeps_marked and "keep" in pod.marks else []),
            *(name for name, holds in spared.items() if holds and name in self.protects),
            *(["noOwner"] if bare else []),
        ]
        return next(iter(reasons), "")


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The pods that a plugin is about: by namespace, and by labels."""

    included: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    labels: tuple[Requirement, ...] = ()

    def holds(self, pod: PodText) -> bool:
        """Whether a pod is in a namespace that counts."""
        wanted = not self.included or pod.namespace in self.included
        return wanted and pod.namespace not in self.excluded


#: Fields of one protection each: those that lift one that holds, and those that add one.
_LIFTS = {
    "evictLocalStoragePods": "PodsWithLocalStorage",
    "evictSystemCriticalPods": "SystemCriticalPods",
    "evictFailedBarePods": "FailedBarePods",
}
_ADDS = {"ignorePvcPods": "PodsWithPVC", "ignorePodsWithoutPDB": "PodsWithoutPDB"}
#: Kubernetes' own priority classes.
_CLASSES = {"system-cluster-critical": CRITICAL, "system-node-critical": CRITICAL + 1000}
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_UNITS = {"ms": 1, "s": MS_PER_S, "m": MS_PER_MINUTE, "h": MS_PER_HOUR}


def evictor_of(given: Given, top: Given | None = None) -> Evictor:
    """The evictor of its arguments; of v1alpha1 of the params of a strategy, and of ``top``."""
    whole = top or given
    given.narrows("namespaceLabelSelector")
    given.widens("evictDaemonSetPods")
    age = given.text("minPodAge")
    return Evictor(
        node_fit=given.flag("nodeFit"),
        below=_below(given),
        protects=_protections(whole),
        labels=label_selector(given, "labelSelector") if top is None else (),
        least_replicas=given.whole("minReplicas", 0),
        least_age_ms=_duration_ms(given, "minPodAge", age) if age else -1,
        keeps_marked=given.text("noEvictionPolicy") == "Mandatory",
        nodes=node_selector(given) if top is None else (),
    )


def _below(given: Given) -> float:
    threshold = given.inside("priorityThreshold")
    value = threshold.whole(
        "value", given.whole("thresholdPriority", -1, least=-(2**31)), least=-(2**31)
    )
    if "value" in threshold or "thresholdPriority" in given:
        return float(value)
    for where, key in ((threshold, "name"), (given, "thresholdPriorityClassName")):
        name = where.text(key)
        if name in _CLASSES:
            return float(_CLASSES[name])
        if name:
            where.told.append(
                f"{where.where}.{key} is '{name}', a class of no known value: no limit"
            )
    return np.inf


def _protections(given: Given) -> frozenset[str]:
    """What is spared: by ``podProtections``, else by the fields that were before it."""
    protections = given.inside("podProtections")
    protections.narrows("config")
    off, more = protections.names("defaultDisabled"), protections.names("extraEnabled")
    lifted = {name for key, name in _LIFTS.items() if given.flag(key)}
    added = {name for key, name in _ADDS.items() if given.flag(key)}
    if off or more:
        lifted, added = set(off), set(more)
    return frozenset((PROTECTED - lifted) | added)


def scope_of(given: Given) -> Scope:
    """The namespaces and labels that a plugin's arguments, or a strategy's params, ask for."""
    found = given.inside("namespaces")
    spared = given.inside("evictableNamespaces")
    included, excluded = found.names("include"), found.names("exclude")
    if included and excluded:
        raise TracekitError(
            f"{found.where} has include and exclude", hint="only one of both can be set"
        )
    return Scope(
        included=frozenset(included),
        excluded=frozenset([*excluded, *spared.names("exclude")]),
        labels=label_selector(given, "labelSelector"),
    )


def label_selector(given: Given, key: str) -> tuple[Requirement, ...]:
    """A selector of labels as requirements, all of which must hold."""
    selector = given.inside(key)
    exact = selector.inside("matchLabels")
    found = [Requirement(name, "In", (exact.text(name),)) for name in exact.fields()]
    for row in selector.rows("matchExpressions"):
        operator = row.text("operator")
        if operator not in _OPERATORS:
            raise Given.wrong(f"{row.where}.operator", operator, f"one of {', '.join(_OPERATORS)}")
        found.append(Requirement(row.text("key"), operator, tuple(row.names("values"))))
    return tuple(found)


def node_selector(given: Given) -> tuple[Requirement, ...]:
    """The text ``nodeSelector`` as requirements: ``a=b``, ``a!=b``, ``a in (b, c)``, ``!a``."""
    text = given.text("nodeSelector")
    parts = re.findall(r"[^,(]+(?:\([^)]*\))?", text)
    return tuple(_requirement(given, part.strip()) for part in parts if part.strip())


def _requirement(given: Given, text: str) -> Requirement:
    sets = re.fullmatch(r"(\S+)\s+(in|notin)\s*\(([^)]*)\)", text)
    if sets:
        values = tuple(one.strip() for one in sets[3].split(","))
        return Requirement(sets[1], "In" if sets[2] == "in" else "NotIn", values)
    equal = re.fullmatch(r"([^\s=!]+)\s*(==?|!=)\s*([^\s=!]*)", text)
    if equal:
        return Requirement(equal[1], "NotIn" if equal[2] == "!=" else "In", (equal[3],))
    alone = re.fullmatch(r"(!?)\s*([^\s=!]+)", text)
    if alone:
        return Requirement(alone[2], "DoesNotExist" if alone[1] else "Exists", ())
    raise Given.wrong(f"{given.where}.nodeSelector", text, "a requirement such as pool=batch")


def _duration_ms(given: Given, key: str, text: str) -> int:
    """A time as Go writes it, such as 1h30m."""
    if not re.fullmatch(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h))+", text):
        raise Given.wrong(f"{given.where}.{key}", text, "a time such as 10m")
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text)
    return round(sum(float(amount) * _UNITS[unit] for amount, unit in parts))
