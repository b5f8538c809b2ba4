"""``DefaultEvictor`` and the pods that a plugin is about: settings, and how a document says them.

Source: descheduler @7d2b28bf framework/plugins/defaultevictor/types.go, and v1alpha1 of 0.26.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import UNSET

from tracekit.base.documents import Fields, Narrows, Whole, Widens
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


#: Kubernetes' own priority classes.
_CLASSES = {"system-cluster-critical": CRITICAL, "system-node-critical": CRITICAL + 1000}
_UNITS = {"ms": 1, "s": MS_PER_S, "m": MS_PER_MINUTE, "h": MS_PER_HOUR}
#: A time as Go writes it, such as 1h30m.
_Duration = Annotated[str, msgspec.Meta(pattern=r"^(?:\d+(?:\.\d+)?(?:ms|s|m|h))*$")]
Texts = tuple[str, ...]


class _Expression(Fields, frozen=True, kw_only=True):
    key: str = ""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: Texts = ()


class Selector(Fields, frozen=True):
    """A selector of labels."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[_Expression, ...] = ()

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What must hold, all of it."""
        exact = [Requirement(name, "In", (value,)) for name, value in self.match_labels.items()]
        more = [Requirement(one.key, one.operator, one.values) for one in self.match_expressions]
        return (*exact, *more)


class Names(Fields, frozen=True):
    """What is meant, or what is not."""

    include: Texts = ()
    exclude: Texts = ()


class Scoped(Fields, frozen=True):
    """What the arguments of a plugin say of the pods that it is about."""

    namespaces: Names = Names()
    evictable_namespaces: Names = Names()
    label_selector: Selector = Selector()

    def __post_init__(self) -> None:
        if self.namespaces.include and self.namespaces.exclude:
            raise ValueError("namespaces has include and exclude, expected one of both")

    @property
    def scope(self) -> Scope:
        """These pods."""
        return Scope(
            included=frozenset(self.namespaces.include),
            excluded=frozenset([*self.namespaces.exclude, *self.evictable_namespaces.exclude]),
            labels=self.label_selector.requirements,
        )


class _Protections(Fields, frozen=True):
    default_disabled: Texts = ()
    extra_enabled: Texts = ()
    config: Narrows = UNSET


class Protecting(Fields, frozen=True):
    """What is spared: by ``podProtections``, else by the fields that were before it."""

    node_selector: str = ""
    pod_protections: _Protections = _Protections()
    evict_local_storage_pods: bool = False
    evict_system_critical_pods: bool = False
    evict_failed_bare_pods: bool = False
    ignore_pvc_pods: bool = False
    ignore_pods_without_pdb: bool = msgspec.field(default=False, name="ignorePodsWithoutPDB")

    @property
    def protects(self) -> frozenset[str]:
        """The kinds of pods that are spared."""
        lifted, added = self.pod_protections.default_disabled, self.pod_protections.extra_enabled
        if lifted or added:
            return frozenset((PROTECTED - {*lifted}) | {*added})
        spared = {
            "PodsWithLocalStorage": not self.evict_local_storage_pods,
            "SystemCriticalPods": not self.evict_system_critical_pods,
            "FailedBarePods": not self.evict_failed_bare_pods,
            "PodsWithPVC": self.ignore_pvc_pods,
            "PodsWithoutPDB": self.ignore_pods_without_pdb,
        }
        return (PROTECTED - {*spared}) | {name for name, stays in spared.items() if stays}

    @property
    def nodes(self) -> tuple[Requirement, ...]:
        """The text ``nodeSelector`` as requirements: ``a=b``, ``a!=b``, ``a in (b)``, ``!a``."""
        parts = re.findall(r"[^,(]+(?:\([^)]*\))?", self.node_selector)
        return tuple(_requirement(part.strip()) for part in parts if part.strip())


class _Threshold(Fields, frozen=True):
    value: int | None = None
    name: str = ""


class EvictorArgs(Protecting, frozen=True):
    """Arguments of ``DefaultEvictor``; those of v1alpha1 stand among the params of a strategy."""

    node_fit: bool = False
    min_replicas: Whole = 0
    min_pod_age: _Duration = ""
    no_eviction_policy: str = ""
    label_selector: Selector = Selector()
    priority_threshold: _Threshold = _Threshold()
    threshold_priority: int | None = None
    threshold_priority_class_name: str = ""
    namespace_label_selector: Narrows = UNSET
    evict_daemon_set_pods: Widens = UNSET

    @property
    def _below(self) -> float | str:
        """The priority from which pods stay, or the class that says it and is not known."""
        for value in (self.priority_threshold.value, self.threshold_priority):
            if value is not None:
                return float(value)
        name = self.priority_threshold.name or self.threshold_priority_class_name
        return float(_CLASSES[name]) if name in _CLASSES else name or np.inf

    def remark(self) -> str:
        below = self._below
        unknown = f"names '{below}', a priority class of no known value: no limit"
        return unknown if isinstance(below, str) else ""

    def evictor(self, top: Protecting | None = None) -> Evictor:
        """The evictor; ``top`` is the document that says what is spared, in v1alpha1."""
        age = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", self.min_pod_age)
        return Evictor(
            node_fit=self.node_fit,
            below=np.inf if isinstance(self._below, str) else self._below,
            protects=(top or self).protects,
            labels=() if top else self.label_selector.requirements,
            least_replicas=self.min_replicas,
            least_age_ms=round(sum(float(of) * _UNITS[unit] for of, unit in age)) if age else -1,
            keeps_marked=self.no_eviction_policy == "Mandatory",
            nodes=() if top else self.nodes,
        )


def _requirement(text: str) -> Requirement:
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
    raise TracekitError(f"nodeSelector is '{text}', expected a requirement such as pool=batch")
