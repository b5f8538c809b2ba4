"""Settings of ``DefaultEvictor`` and the scope of a plugin, and their fields in a document.

Source: descheduler @7d2b28bf framework/plugins/defaultevictor/types.go.
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
from tracekit.policy.view.pods import PodRecord

#: The priority from which a pod is critical to the system.
CRITICAL = 2_000_000_000
#: The protections that are on by default.
PROTECTED = frozenset(
    {"PodsWithLocalStorage", "DaemonSetPods", "SystemCriticalPods", "FailedBarePods"}
)
#: Marks that spare a pod under any settings; the annotation ``evict`` overrides them.
_NEVER = frozenset({"mirror", "static", "terminating"})
#: The mark of the pods that each protection spares.
_BY_MARK = {
    "PodsWithLocalStorage": "local",
    "PodsWithPVC": "claim",
    "PodsWithResourceClaims": "resource_claims",
}


@dataclass(frozen=True, kw_only=True)
class Evictor:
    """Settings of ``DefaultEvictor``, the descheduler's filter of pods that may be evicted.

    Parameters
    ----------
    node_fit : bool
        Whether a pod is evicted only if it fits another node.
    below : float
        With the protection SystemCriticalPods, pods of this priority or a higher one stay.
    protects : frozenset of str
        Upstream's names of the kinds of pods that stay, such as DaemonSetPods.
    labels : tuple of Requirement
        Pods whose labels do not meet these stay.
    least_replicas : int
        A pod stays if its owner has fewer pods.
    least_age_ms : int
        A younger pod stays.
    keeps_marked : bool
        Whether a pod with the annotation that prefers no eviction stays.
    nodes : tuple of Requirement
        For ``node_fit`` only nodes whose labels meet these count.
    """

    node_fit: bool = False
    below: float = np.inf
    protects: frozenset[str] = PROTECTED
    labels: tuple[Requirement, ...] = ()
    least_replicas: int = 0
    least_age_ms: int = -1
    keeps_marked: bool = False
    nodes: tuple[Requirement, ...] = ()

    def protection_of(self, pod: PodRecord) -> str:
        """Return the protection that keeps a pod from eviction, such as DaemonSetPods; else ''."""
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
    """A plugin's filter of pods by namespace and labels; an empty ``included`` is any namespace."""

    included: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    labels: tuple[Requirement, ...] = ()

    def holds(self, pod: PodRecord) -> bool:
        """Return whether the namespace of a pod passes the filter; labels are not checked."""
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
    """A Kubernetes label selector in the arguments of a plugin."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[_Expression, ...] = ()

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """Labels and expressions of the selector as requirements, all of which must hold."""
        exact = [Requirement(name, "In", (value,)) for name, value in self.match_labels.items()]
        more = [Requirement(one.key, one.operator, one.values) for one in self.match_expressions]
        return (*exact, *more)


class Names(Fields, frozen=True):
    """Names in the arguments of a plugin: those to include, or those to exclude."""

    include: Texts = ()
    exclude: Texts = ()


class Scoped(Fields, frozen=True):
    """Base of a plugin's arguments in a file: the fields that select the pods it considers."""

    namespaces: Names = Names()
    evictable_namespaces: Names = Names()
    label_selector: Selector = Selector()

    def __post_init__(self) -> None:
        if self.namespaces.include and self.namespaces.exclude:
            raise ValueError("namespaces has include and exclude, expected one of both")

    @property
    def scope(self) -> Scope:
        """The filter of pods that the fields describe."""
        return Scope(
            included=frozenset(self.namespaces.include),
            excluded=frozenset([*self.namespaces.exclude, *self.evictable_namespaces.exclude]),
            labels=self.label_selector.requirements,
        )


class _Protections(Fields, frozen=True):
    default_disabled: Texts = ()
    extra_enabled: Texts = ()
    config: Narrows = UNSET


class _Threshold(Fields, frozen=True):
    value: int | None = None
    name: str = ""


class EvictorArgs(Fields, frozen=True):
    """Arguments of ``DefaultEvictor`` in a ``DeschedulerPolicy`` file.

    ``podProtections`` states which kinds of pods are not evicted. If it is absent, the older fields
    ``evict...`` and ``ignore...`` state them.
    """

    node_selector: str = ""
    pod_protections: _Protections = _Protections()
    evict_local_storage_pods: bool = False
    evict_system_critical_pods: bool = False
    evict_failed_bare_pods: bool = False
    ignore_pvc_pods: bool = False
    ignore_pods_without_pdb: bool = msgspec.field(default=False, name="ignorePodsWithoutPDB")
    node_fit: bool = False
    min_replicas: Whole = 0
    min_pod_age: _Duration = ""
    no_eviction_policy: str = ""
    label_selector: Selector = Selector()
    priority_threshold: _Threshold = _Threshold()
    namespace_label_selector: Narrows = UNSET
    evict_daemon_set_pods: Widens = UNSET

    @property
    def _protects(self) -> frozenset[str]:
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
        return (PROTECTED - {*spared}) | {name for name, protected in spared.items() if protected}

    @property
    def _below(self) -> float | str:
        """The priority from which pods stay, or a priority class whose value is unknown."""
        value, name = self.priority_threshold.value, self.priority_threshold.name
        if value is not None:
            return float(value)
        return float(_CLASSES[name]) if name in _CLASSES else name or np.inf

    def remark(self) -> str:
        below = self._below
        unknown = f"names '{below}', a priority class of no known value: no limit"
        return unknown if isinstance(below, str) else ""

    def evictor(self) -> Evictor:
        """Return the evictor with these arguments: it decides which pods may be evicted."""
        age = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", self.min_pod_age)
        return Evictor(
            node_fit=self.node_fit,
            below=np.inf if isinstance(self._below, str) else self._below,
            protects=self._protects,
            labels=self.label_selector.requirements,
            least_replicas=self.min_replicas,
            least_age_ms=round(sum(float(of) * _UNITS[unit] for of, unit in age)) if age else -1,
            keeps_marked=self.no_eviction_policy == "Mandatory",
            nodes=node_requirements(self.node_selector),
        )


def node_requirements(selector: str) -> tuple[Requirement, ...]:
    """Return the requirements in a ``nodeSelector`` text such as ``a=b, c!=d, e in (f, g), !h``."""
    parts = re.findall(r"[^,(]+(?:\([^)]*\))?", selector)
    return tuple(_requirement(part.strip()) for part in parts if part.strip())


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
